/** A key that is missing or another one is said, never taken for damage; nothing on disk changes by it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '@beige/protocol'
import { createManualTime } from '../../test/manual-time.ts'
import type { MemoryDisk } from '../../test/memory-disk.ts'
import {
  processOn,
  SAMPLE_FOLDER,
  SAMPLE_ID,
  sampleLog,
  sealingWith,
  segmentFiles,
} from '../../test/sample-log.ts'
import { prompt, sessionId } from '../../test/sample-records.ts'
import { prepareBody } from '../record-line.ts'
import { createSealing, type Sealing } from './sealing.ts'

const otherTenant = createSealing({ tenant: 't-2', keys: [Buffer.alloc(32, 7)], random: systemRandom })

async function refuses(disk: MemoryDisk, sealing: Sealing | undefined, code: string): Promise<void> {
  const before = [...disk.files].map(([path, file]) => [path, file.bytes.toString('hex')])
  const { store } = processOn(disk, 99, createManualTime(), sealing)
  await assert.rejects(store.read(SAMPLE_ID), { code })
  await assert.rejects(store.open(SAMPLE_ID), { code })
  assert.deepEqual(
    [...disk.files].map(([path, file]) => [path, file.bytes.toString('hex')]),
    before,
  )
}

test('without the key, with another one, for another tenant, or plain where only sealed ones are read', async () => {
  const sealed = await sampleLog(4, 'released', sealingWith(7))
  await refuses(sealed, undefined, 'no_key')
  await refuses(sealed, sealingWith(8), 'no_key')
  await refuses(sealed, otherTenant, 'wrong_seal')
  await refuses(await sampleLog(4, 'released'), sealingWith(7), 'not_sealed')
})

test('the error names the key that is needed and what to do', async () => {
  const sealed = await sampleLog(1, 'released', sealingWith(7))
  const { store } = processOn(sealed, 99, createManualTime(), sealingWith(8))
  await assert.rejects(store.read(SAMPLE_ID), {
    message: `session ${SAMPLE_ID} is sealed with key ${sealingWith(7).kid}, which is not here`,
    advice: /--dek-file/,
  })
})

test('a log under another id does not open as that one', async () => {
  const disk = await sampleLog(2, 'released', sealingWith(7))
  await disk.rename(SAMPLE_FOLDER, '/sessions/s_other')
  const { store } = processOn(disk, 99, createManualTime(), sealingWith(7))
  await assert.rejects(store.read(sessionId('s_other')), { code: 'wrong_seal' })
})

test('old keys read, the newest writes; without the old one the log is refused, not called damaged', async () => {
  const disk = await sampleLog(2, 'released', sealingWith(7))
  const { store } = processOn(disk, 99, createManualTime(), sealingWith(8, 7))
  const log = await store.open(SAMPLE_ID)
  assert.deepEqual(log.damage, [])
  await log.append(prompt('new', null))
  await store.close()
  const lines = segmentFiles(disk).flatMap(file => file.bytes.toString('latin1').split('\n'))
  assert.ok(lines.some(line => line.startsWith(`e2.${sealingWith(8).kid}.`)))
  await refuses(disk, sealingWith(8), 'no_key')
  await refuses(disk, sealingWith(7), 'no_key')
  assert.equal(
    (await processOn(disk, 98, createManualTime(), sealingWith(7, 8)).store.read(SAMPLE_ID)).length,
    14,
  )
})

test('lines are in the clear of nothing but key, epoch and number; a line moved within its log is named', async () => {
  const disk = await sampleLog(1, 'released', sealingWith(7))
  const [file] = segmentFiles(disk)
  assert.ok(file)
  const lines = file.bytes.toString('latin1').trimEnd().split('\n')
  for (const line of lines.slice(1, -1)) assert.match(line, /^e2\.[0-9a-f]{8}\.1\.\d+:[A-Za-z0-9_-]+$/)
  // The number in the clear is part of what the line is about.
  const stored = disk.files.get(file.path)
  assert.ok(stored)
  stored.bytes = Buffer.from(`${lines.join('\n').replace('.1.3:', '.1.4:')}\n`)
  const { store } = processOn(disk, 99, createManualTime(), sealingWith(7))
  const log = await store.open(SAMPLE_ID)
  assert.deepEqual(
    log.damage.map(one => one.seqs),
    [[3]],
  )
})

test('any bit of a sealed line that is another one costs that line alone', () => {
  const lines = sealingWith(7).lines(SAMPLE_ID)
  for (const text of ['', 'x', 'xy']) {
    const body = prepareBody(prompt(`e${text}`, null))
    assert.ok(typeof body !== 'string')
    const { line } = lines.encode(body, { seq: 1, epoch: 1, prev: '0'.repeat(32), at: 1 })
    assert.equal(lines.read(line)?.kind, 'record')
    for (let bit = 0; bit < line.length * 8; bit++) {
      const other = Buffer.from(line)
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const found = lines.read(other)
      assert.ok(found === null || found.kind === 'refused', `${bit}: ${found?.kind}`)
    }
  }
})

test('a session whose key is not here is listed by its id alone', async () => {
  const disk = await sampleLog(2, 'released', sealingWith(7))
  const locked = await processOn(disk, 99, createManualTime(), sealingWith(8)).store.list({ limit: 10 })
  assert.deepEqual(
    locked.rows.map(row => [row.id, row.title, row.cwd]),
    [[SAMPLE_ID, '', '']],
  )
  const opened = await processOn(disk, 98, createManualTime(), sealingWith(7)).store.list({ limit: 10 })
  assert.equal(opened.rows[0]?.cwd, '/w')
})
