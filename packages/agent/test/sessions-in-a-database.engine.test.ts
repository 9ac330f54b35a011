/** `agent` with `--store postgres://…`: migrated, run, gone on with by another process, taken over after kill -9, listed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresMissing, startPostgres, startTcpProxy } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'

const ID = 's_db'

test('sessions of the command live in a database', { skip: postgresMissing(), timeout: 120_000 }, async t => {
  await using server = await startPostgres()
  await using bench = await agentBench(request => ({ text: `answer ${request.messages.length}` }))
  const url = await server.newDatabase()
  const run = (...args: string[]) =>
    bench.agent(['run', '--sandbox', 'host', '--store', url, '--session-id', ID, ...args])

  await t.test('a database without the schema is refused, with the command that makes it', async () => {
    const refused = await run('hello')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /schema version 0.*agent sessions migrate/)
  })

  await t.test('migrate brings it up to date, and says so when it is', async () => {
    const first = await bench.agent(['sessions', 'migrate', '--store', url])
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stdout, /applied 0001-sessions.sql/)
    const { stdout } = await bench.agent(['sessions', 'migrate', '--json'], { AI_AGENT_STORE: url })
    assert.deepEqual(JSON.parse(stdout), { from: 1, to: 1, applied: [] })
    assert.equal((await bench.agent(['sessions', 'migrate', '--store', 'files'])).code, 2)
  })

  await t.test('another process goes on with it, in the next epoch', async () => {
    const first = await run('hello')
    assert.equal(first.code, 0, first.stderr)
    const second = await run('--json', 'and now')
    assert.equal(second.code, 0, second.stderr)
    assert.equal(bench.seen.at(-1)?.messages.length, 3)
    const { stdout } = await bench.agent(['sessions', 'list', '--json', '--store', url])
    assert.partialDeepStrictEqual(JSON.parse(stdout), {
      total: 1,
      sessions: [{ id: ID, title: 'hello', message_count: 4 }],
    })
    assert.match((await bench.agent(['sessions', 'show', ID, '--store', url])).stdout, /and now/)
    assert.equal((await bench.agent(['sessions', 'check', ID, '--store', url])).code, 2)
  })

  await t.test('a killed owner is waited out and its session taken over', async () => {
    const child = bench.start(['serve', '--sandbox', 'host', '--store', url, '--session-id', ID])
    await child.frame({ type: 'ready' })
    const held = await run('never')
    assert.equal(held.code, 75, held.stderr)
    child.process.kill('SIGKILL')
    await child.ended
    const next = await run('--json', 'go on')
    assert.equal(next.code, 0, next.stderr)
  })

  await t.test('a run outlives restarts of the database and cuts of its connection', async () => {
    await using proxy = await startTcpProxy(server.port)
    const child = bench.start([
      'serve',
      '--sandbox',
      'host',
      '--store',
      server.urlThrough(proxy.port, url),
      '--session-id',
      's_cut',
    ])
    await child.frame({ type: 'ready' })
    for (let count = 0; count < 4; count++) {
      if (count === 1) proxy.cut('both')
      if (count === 2) await server.stop('crash')
      child.send({ type: 'prompt', id: `c${count}`, message: `task ${count}` })
      if (count === 2) await server.start()
      const done = await child.frame({ type: 'response', id: `c${count}` })
      assert.equal(done.success, true, JSON.stringify(done))
    }
    child.process.stdin.end()
    assert.equal((await child.ended).code, 0)
    const { stdout } = await bench.agent(['sessions', 'list', '--json', '--store', url])
    assert.partialDeepStrictEqual(JSON.parse(stdout), { sessions: [{ id: 's_cut', message_count: 8 }] })
  })

  await t.test('rm, restore, gc', async () => {
    const sessions = async (...args: string[]) =>
      (await bench.agent(['sessions', ...args, '--store', url])).code
    assert.equal(await sessions('rm', ID), 0)
    assert.notEqual(await sessions('show', ID), 0)
    assert.equal(await sessions('restore', ID), 0)
    assert.equal(await sessions('rm', ID), 0)
    assert.equal(await sessions('gc', '--days', '0'), 0)
    assert.notEqual(await sessions('restore', ID), 0)
  })

  await t.test('a database that is not there is said in one line', async () => {
    const gone = url.replace(/port=\d+/, 'port=1')
    const { code, stderr } = await bench.agent(['sessions', 'list', '--store', gone])
    assert.notEqual(code, 0)
    assert.match(stderr, /can not be reached/)
  })
})
