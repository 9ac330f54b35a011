/** The end of a job is told: with its token, until it is heard, and nothing waits for it. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { type TestContext, test } from 'node:test'
import { skip, startExecd, until } from './execd.ts'
import { jobOf, post, startAndLeave, stateOf, untilExited } from './jobs.ts'

type Heard = { method: string; path: string; token: string; state: Record<string, unknown> }

/** Answers with the given statuses in turn, the last one for ever; 0 never answers. */
async function startReceiver(t: TestContext, ...statuses: number[]) {
  const heard: Heard[] = []
  const server: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { method = '', url: path = '', headers } = request
    heard.push({ method, path, token: headers.authorization ?? '', state: JSON.parse(body) })
    const status = statuses[Math.min(heard.length, statuses.length) - 1]
    if (status) response.writeHead(status).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  return { heard, notify: { url: `http://127.0.0.1:${port}/ended?a=b`, token: 'secret-token' } }
}

test('an end is told once, with the token and the state', { skip }, async t => {
  const execd = await startExecd(t)
  const { heard, notify } = await startReceiver(t, 204)
  await startAndLeave(execd, jobOf('a', 'echo hi; exit 3', { notify }))
  await untilExited(execd, 'a')
  await until('it is heard', () => heard.length > 0)
  const [first] = heard
  assert.deepEqual([first?.method, first?.path, first?.token], ['POST', '/ended?a=b', 'Bearer secret-token'])
  assert.deepEqual(first?.state, await stateOf(execd, 'a'))
  assert.equal(first?.state.exit_code, 3)
  // A second end: had the first been told again, it would have come between.
  await startAndLeave(execd, jobOf('b', 'true', { notify }))
  await until('the second is heard', () => heard.length > 1)
  assert.deepEqual(
    heard.map(({ state }) => state.id),
    ['a', 'b'],
  )
})

test('a failure is told again, later and later, until it is heard', { skip }, async t => {
  const execd = await startExecd(t)
  const { heard, notify } = await startReceiver(t, 500, 503, 200)
  const sinceMs = performance.now()
  await startAndLeave(execd, jobOf('a', 'true', { notify }))
  await until('it is heard', () => heard.length === 3)
  const tookMs = performance.now() - sinceMs
  assert.ok(tookMs > 2_900, `1 s and 2 s lie between: ${tookMs}`)
  assert.equal(new Set(heard.map(({ state }) => state.id)).size, 1)
})

test('a receiver that is not there yet is found when it is', { skip }, async t => {
  const execd = await startExecd(t)
  const { heard, notify } = await startReceiver(t, 200)
  const closed = { ...notify, url: 'http://127.0.0.1:1/' }
  await startAndLeave(execd, jobOf('a', 'true', { notify: closed, ttl_s: 2 }))
  await startAndLeave(
    execd,
    jobOf('b', 'true', { notify: { ...notify, url: notify.url.replace('127.0.0.1', 'localhost') } }),
  )
  await until('the other is heard', () => heard.length === 1)
  assert.equal(heard[0]?.state.id, 'b')
})

test('410 and the end of the ttl stop it', { skip }, async t => {
  const execd = await startExecd(t)
  const gone = await startReceiver(t, 410)
  const deaf = await startReceiver(t, 500)
  await startAndLeave(execd, jobOf('a', 'true', { notify: gone.notify }))
  await startAndLeave(execd, jobOf('b', 'true', { notify: deaf.notify, ttl_s: 2 }))
  // Told at 0 s and 1 s; the third would be at 3 s.
  await until('it is forgotten', async () => (await execd.send('GET', '/jobs/b?scope=s')).status === 410)
  const marker = await startReceiver(t, 500, 500, 200)
  await startAndLeave(execd, jobOf('c', 'true', { notify: marker.notify }))
  await until('one that began later has been told three times', () => marker.heard.length === 3)
  assert.deepEqual([gone.heard.length, deaf.heard.length], [1, 2])
})

test('PATCH says whom to tell; who is not kept, or never started, is not told of', { skip }, async t => {
  const execd = await startExecd(t)
  const { heard, notify } = await startReceiver(t, 200)
  await execd.run(jobOf('unkept', 'true', { keep: false, notify }))
  assert.equal((await post(execd, jobOf('never', 'true', { instance: 'other', notify }))).status, 410)
  const { frames, close } = await execd.stream({
    command: 'sh',
    args: ['-c', 'until [ -e go ]; do sleep 0.02; done'],
  })
  const start = (await frames.next()).value
  const patch = await execd.send('PATCH', `/jobs/${start?.job}`, JSON.stringify({ keep: true, notify }))
  assert.equal(patch.status, 200)
  close()
  await execd.run({ command: 'touch', args: ['go'] })
  await until('it is heard', () => heard.length > 0)
  assert.deepEqual(
    heard.map(({ state }) => state.id),
    [start?.job],
  )
})

test('a receiver that never answers holds up neither commands nor other ends', { skip }, async t => {
  const execd = await startExecd(t)
  const deaf = await startReceiver(t, 0)
  const { heard, notify } = await startReceiver(t, 200)
  for (const id of ['a', 'b', 'c']) await startAndLeave(execd, jobOf(id, 'true', { notify: deaf.notify }))
  await until('all three hang', () => deaf.heard.length === 3)
  await startAndLeave(execd, jobOf('d', 'true', { notify }))
  await until('it is heard', () => heard.length === 1)
  assert.equal((await execd.run({ command: 'true' })).exit_code, 0)
  execd.kill('SIGTERM')
  assert.equal(await execd.ended, 0)
})

test('a url that is no plain http is refused before anything starts', { skip }, async t => {
  const execd = await startExecd(t)
  for (const url of ['https://127.0.0.1/', 'http://', 'file:///etc/passwd', 'http://a/\r\nX: y']) {
    const reply = await post(execd, jobOf('a', 'touch ran', { notify: { url, token: 't' } }))
    assert.equal(reply.status, 400, url)
  }
  assert.equal((await execd.send('GET', '/stat?path=ran')).status, 404)
})
