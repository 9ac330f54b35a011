/** The list that every store passes, line by line of `SessionStore`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SESSION_VERSION } from '@beige/protocol'
import { foldSession } from '../src/fold.ts'
import { answer, entry, prompt, sessionId } from './sample-records.ts'
import type { StoreSetting } from './store-settings.ts'

const A = sessionId('s_A')
const FIRST = { id: A, cwd: '/work', model: 'm1', meta: { agent: 'demo', depth: 2 } }
const code = (name: string) => ({ code: name })

export function storeContract(
  name: string,
  start: () => Promise<StoreSetting>,
  options: { skip?: string | false } = {},
): void {
  const withSetting = (run: (setting: StoreSetting) => Promise<void>) => async () => {
    const setting = await start()
    try {
      await run(setting)
    } finally {
      await setting.dispose()
    }
  }

  describe(`store ${name}`, options, () => {
    test(
      'a new session begins with its record, readable at once by others',
      withSetting(async ({ process }) => {
        const log = await process().store.create(FIRST)
        const [session, ...rest] = await process().store.read(A)
        assert.equal(rest.length, 0)
        assert.partialDeepStrictEqual(session, {
          seq: 1,
          epoch: 1,
          prev: '0'.repeat(32),
          type: 'session',
          version: SESSION_VERSION,
          ...FIRST,
        })
        assert.deepEqual(log.records, [session])
      }),
    )

    test(
      'further records of a creation are there with the first',
      withSetting(async ({ process }) => {
        const log = await process().store.create(FIRST, prompt('e1', null), answer('e2', 'e1'))
        assert.deepEqual(
          log.records.map(record => [record.seq, record.type]),
          [
            [1, 'session'],
            [2, 'prompt'],
            [3, 'message'],
          ],
        )
        assert.deepEqual(await process().store.read(A), log.records)
      }),
    )

    test(
      'an id is given once',
      withSetting(async ({ process }) => {
        const { store } = process()
        assert.equal(await store.exists(A), false)
        await (await store.create(FIRST)).close()
        assert.equal(await store.exists(A), true)
        await assert.rejects(store.create(FIRST), code('exists'))
        await assert.rejects(process().store.create(FIRST), code('exists'))
      }),
    )

    test(
      'what is not there is not found, also under names that are no ids',
      withSetting(async ({ process }) => {
        const { store } = process()
        await assert.rejects(store.open(A), code('not_found'))
        await assert.rejects(store.read(A), code('not_found'))
        await assert.rejects(store.create({ id: '../x', cwd: '/' }), code('bad_record'))
      }),
    )

    test(
      'appends are numbered and chained in the order of the calls, concurrent ones too',
      withSetting(async ({ process }) => {
        const log = await process().store.create(FIRST)
        const ids = Array.from({ length: 40 }, (_, index) => `e${index}`)
        const acks = await Promise.all(ids.map(id => log.append(prompt(id, null))))
        assert.deepEqual(
          acks.flat().map(record => [record.seq, record.type === 'prompt' && record.id]),
          ids.map((id, index) => [index + 2, id]),
        )
        assert.deepEqual(await process().store.read(A), log.records)
      }),
    )

    test(
      'a record that could not be read back is refused alone',
      withSetting(async ({ process }) => {
        const log = await process().store.create(FIRST)
        const good = log.append(prompt('e1', null))
        await assert.rejects(log.append(Object.assign(prompt('e2', null), { seq: 7 })), code('bad_record'))
        await assert.rejects(
          log.append({ ...prompt('e3', null), message: [{ type: 'text', text: JSON.parse('5') }] }),
          code('bad_record'),
        )
        await good
        assert.equal(log.records.length, 2)
      }),
    )

    test(
      'a caller may change what it appended, the log does not change with it',
      withSetting(async ({ process }) => {
        const log = await process().store.create(FIRST)
        const body = prompt('e1', null, 'before')
        const ack = log.append(body)
        body.message = [{ type: 'text', text: 'after' }]
        await ack
        const record = log.records.at(-1)
        assert.deepEqual(record?.type === 'prompt' && record.message, [{ type: 'text', text: 'before' }])
      }),
    )

    test(
      'a released session opens at once in the next epoch, with everything',
      withSetting(async ({ process }) => {
        const first = await process().store.create(FIRST, prompt('e1', null))
        await first.close()
        await first.close()
        const second = await process().store.open(A, { waiting: () => assert.fail('it waits') })
        assert.equal(second.epoch, 2)
        assert.deepEqual(second.records, first.records)
        assert.deepEqual(second.damage, [])
        const [record] = await second.append(answer('e2', 'e1'))
        assert.partialDeepStrictEqual(record, { seq: 3, epoch: 2 })
      }),
    )

    test(
      'a live owner keeps its session',
      withSetting(async ({ process }) => {
        const owner = process()
        const log = await owner.store.create(FIRST)
        await assert.rejects(process().store.open(A), code('session_busy'))
        await assert.rejects(owner.store.open(A), code('session_busy'))
        await log.append(prompt('e1', null))
      }),
    )

    test(
      'an owner that is silent for 3 s loses it, and nothing that it acknowledged',
      withSetting(async ({ process, time }) => {
        const dead = process()
        const log = await dead.store.create(FIRST)
        await time.advance(5000)
        await log.append(prompt('e1', null))
        dead.pause()
        const successor = await process().store.open(A)
        assert.equal(successor.epoch, 2)
        assert.deepEqual(successor.records, log.records)
      }),
    )

    test(
      'a paused owner wakes up superseded: its writes are refused and no part of history',
      withSetting(async ({ process }) => {
        const zombie = process()
        const old = await zombie.store.create(FIRST)
        zombie.pause()
        const reader = process()
        const successor = await reader.store.open(A)
        await successor.append(prompt('e_new', null))
        zombie.resume()
        await assert.rejects(old.append(prompt('e_old', null)), code('session_superseded'))
        await assert.rejects(old.append(prompt('e_old2', null)), code('session_superseded'))
        await old.close()
        const ids = (await reader.store.read(A)).map(record => record.type === 'prompt' && record.id)
        assert.deepEqual(ids, [false, 'e_new'])
        await assert.rejects(zombie.store.open(A), code('session_busy'))
      }),
    )

    test(
      'a wall clock that jumps an hour changes nothing',
      withSetting(async ({ process, time }) => {
        const log = await process().store.create(FIRST)
        time.jump(3_600_000)
        await assert.rejects(process().store.open(A), code('session_busy'))
        time.jump(-7_200_000)
        await assert.rejects(process().store.open(A), code('session_busy'))
        await log.append(prompt('e1', null))
      }),
    )

    test(
      'after a close nothing is appended',
      withSetting(async ({ process }) => {
        const log = await process().store.create(FIRST)
        const last = log.append(prompt('e1', null))
        await log.close()
        await last
        await assert.rejects(log.append(prompt('e2', null)), code('closed'))
        assert.equal((await process().store.read(A)).length, 2)
      }),
    )

    test(
      'a key finds its first run on every owner',
      withSetting(async ({ process }) => {
        const log = await process().store.create(FIRST, prompt('e1', null, 'hi', 'key-1'))
        await log.append({ type: 'run_end', run_id: 'e1', outcome: 'done', steps: 1 })
        await log.close()
        const state = foldSession((await process().store.open(A)).records)
        assert.equal(state.keys.get('key-1'), 'e1')
        assert.equal(state.runs.get(entry('e1'))?.end?.outcome, 'done')
      }),
    )

    test(
      'a listing is newest first, by directory, in pages, with titles',
      withSetting(async ({ process, time }) => {
        const { store } = process()
        const named = await store.create(
          { id: 's_1', cwd: '/a', title: 'A name' },
          prompt('e1', null, 'not this'),
        )
        await time.advance(1000)
        const titled = await store.create({ id: 's_2', cwd: '/a', meta: { agent: 'x' } })
        await time.advance(1000)
        await store.create({ id: 's_3', cwd: '/b' })
        await time.advance(1000)
        await titled.append(prompt('e1', null, `\n ${'word '.repeat(20)}\nsecond line`))
        await time.advance(1000)
        await named.append({ type: 'setting', name: 'model', value: 'm2' })
        const all = await store.list({ limit: 10 })
        assert.deepEqual(
          all.rows.map(row => [row.id, row.title, row.model]),
          [
            ['s_1', 'A name', 'm2'],
            ['s_2', 'word '.repeat(12).trim(), ''],
            ['s_3', '', ''],
          ],
        )
        assert.deepEqual(all.rows[1]?.meta, { agent: 'x' })
        assert.equal((await store.list({ cwd: '/a', limit: 1 })).total, 2)
        assert.deepEqual(
          (await process().store.list({ limit: 1, offset: 1 })).rows.map(row => row.id),
          ['s_2'],
        )
      }),
    )

    test(
      'a listing counts messages, says where a fork comes from, and finds by title, id and directory',
      withSetting(async ({ process, time }) => {
        const { store } = process()
        const made = async (id: string, cwd: string, title: string) => {
          await time.advance(5)
          await (await store.create({ id, cwd, title })).close()
        }
        await made('s_1', '/needle', 'hay')
        await made('s_needle', '/a', 'hay')
        await made('s_3', '/a', 'A Needle')
        await made('s_4', '/needle/b', 'hay')
        await made('s_5', '/a', '100% hay_')
        const fork = await store.create({ id: 's_6', cwd: '/c', parent: 's_5' }, prompt('e1', null))
        await fork.append(answer('e2', 'e1'))
        await fork.close()
        const found = async (text: string) => (await store.list({ text, limit: 9 })).rows.map(row => row.id)
        assert.deepEqual(await found('NEEDLE'), ['s_3', 's_needle', 's_4', 's_1'])
        assert.deepEqual(await found('%'), ['s_5'])
        assert.deepEqual(await found('y_'), ['s_5'])
        assert.deepEqual(await found('none'), [])
        const page = await store.list({ text: 'needle', cwd: '/a', limit: 1, offset: 1 })
        assert.deepEqual([page.total, page.rows.map(row => row.id)], [2, ['s_needle']])
        const [row] = (await store.list({ cwd: '/c', limit: 1 })).rows
        assert.deepEqual([row?.messageCount, row?.parent], [2, 's_5'])
      }),
    )

    test(
      'a removed session is gone until it is restored, in the next epochs',
      withSetting(async ({ process, time }) => {
        const { store } = process()
        await assert.rejects(store.remove(A), code('not_found'))
        const log = await store.create(FIRST, prompt('e1', null))
        await assert.rejects(store.remove(A), code('session_busy'))
        await assert.rejects(process().store.remove(A), code('session_busy'))
        await log.close()
        await store.remove(A)
        await store.remove(A)
        assert.equal(await store.exists(A), false)
        await assert.rejects(store.open(A), code('not_found'))
        await assert.rejects(store.read(A), code('not_found'))
        assert.equal((await store.list({ limit: 5 })).total, 0)
        assert.deepEqual(
          (await process().store.trash()).map(entry => entry.id),
          [A],
        )
        await assert.rejects(store.restore(sessionId('s_other')), code('not_in_trash'))
        await store.restore(A)
        await assert.rejects(store.restore(A), { code: /^(exists|not_in_trash)$/ })
        assert.equal((await store.list({ limit: 5 })).total, 1)
        const again = await process().store.open(A)
        assert.equal(again.epoch, 3)
        assert.deepEqual(again.records, log.records)
        await again.close()
        await store.remove(A)
        assert.equal(await store.emptyTrash(0), 0)
        await time.advance(5)
        assert.equal(await store.emptyTrash(time.clock.now()), 1)
        assert.deepEqual(await store.trash(), [])
        await assert.rejects(store.restore(A), code('not_in_trash'))
      }),
    )

    test(
      'the owner of a removed session is fenced',
      withSetting(async ({ process }) => {
        const zombie = process()
        const log = await zombie.store.create(FIRST)
        zombie.pause()
        await process().store.remove(A)
        zombie.resume()
        await assert.rejects(log.append(prompt('e1', null)), code('session_superseded'))
      }),
    )
  })
}
