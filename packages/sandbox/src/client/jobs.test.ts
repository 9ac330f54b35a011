import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@beige/protocol'
import { EXIT, HEALTH, json, lines, ndjson, out, START, wrongEndpoint } from '../../test/wrong-endpoint.ts'

const TEST_MS = 30_000
const signal = () => AbortSignal.timeout(TEST_MS)
const JOB = { id: 'c_1', scope: 's_1' }
const FROM = { stdout: 0, stderr: 0 }
const STATE = {
  ...JOB,
  ...{ command: 'ls', args: [], cwd: '/', state: 'exited', pid: 7, started_at: 1, ended_at: 2 },
  ...{ exit_code: null, signal: 'SIGTERM', timed_out: false, kept: true },
  ...{ stdout_bytes: 1, stderr_bytes: 0, dropped_bytes: 0 },
}
const refusal = (code: string) => ({ error: { code, message: `it is ${code}` } })

test('a job is started under the name that its caller gave it', async () => {
  await using at = await wrongEndpoint({
    'POST /': response => void ndjson(response).end(lines(START, out('o'), EXIT)),
  })
  const steps: string[] = []
  const end = await at.exec.startJob(
    { command: 'ls', timeout_ms: 9 },
    { ...JOB, instance: 'one', keep: true, ttlS: 60, notify: { url: 'http://n', token: 't' } },
    { onStart: () => steps.push('start'), onChunk: chunk => void steps.push(String(chunk.bytes)) },
    signal(),
  )
  assert.equal(end.exitCode, 0)
  assert.deepEqual(steps, ['start', 'o'])
  assert.deepEqual(JSON.parse(at.seen.at(-1)?.body ?? ''), {
    ...{ command: 'ls', timeout_ms: 9, stream: true },
    job: {
      ...JOB,
      ...{ instance: 'one', keep: true, ttl_s: 60, notify: { url: 'http://n', token: 't' } },
    },
  })
})

for (const [code, status] of [
  ['gone', 410],
  ['conflict', 409],
  ['not_found', 404],
] as const) {
  test(`what an endpoint says of a job is a code of its own: ${code}`, async () => {
    const refuses = (response: Parameters<typeof json>[0]) => json(response, refusal(code), status)
    await using at = await wrongEndpoint({
      'POST /': refuses,
      'GET /jobs/c_1': refuses,
      'GET /jobs/c_1/output': refuses,
      'PATCH /jobs/c_1': refuses,
      'DELETE /jobs/c_1': refuses,
      'POST /jobs/c_1/stdin': refuses,
    })
    const how = { onChunk: () => {} }
    const says = (error: unknown) => isError(error, code) && error.data.id === 'c_1'
    await assert.rejects(at.exec.startJob({ command: 'ls' }, JOB, how, signal()), says)
    await assert.rejects(at.exec.jobState(JOB, signal()), says)
    await assert.rejects(
      at.exec.followJob(JOB, FROM, () => {}, signal()),
      says,
    )
    await assert.rejects(at.exec.keepJob(JOB, signal()), says)
    await assert.rejects(at.exec.killJob(JOB, signal()), says)
    await assert.rejects(at.exec.writeJobStdin(JOB, Buffer.from('x'), signal()), says)
  })
}

test('an endpoint without jobs says so, and starts nothing', async () => {
  await using at = await wrongEndpoint({
    'GET /health': response => json(response, { ...HEALTH, features: ['stream', 'files'] }),
  })
  assert.equal(await at.exec.hasJobs(signal()), false)
  await assert.rejects(at.exec.startJob({ command: 'ls' }, JOB, { onChunk: () => {} }, signal()), {
    code: 'no_jobs',
  })
  assert.deepEqual(
    at.seen.map(one => one.method),
    ['GET'],
  )
})

test('output goes on from an offset, and what the endpoint has dropped is a jump', async () => {
  await using at = await wrongEndpoint({
    'GET /jobs/c_1/output': response => void ndjson(response).end(lines(out('later', 9_000), EXIT)),
  })
  const seen: number[] = []
  const end = await at.exec.followJob(
    JOB,
    { stdout: 5, stderr: 0 },
    ({ offset }) => void seen.push(offset),
    signal(),
  )
  assert.equal(end.exitCode, 0)
  assert.deepEqual(seen, [9_000])
  assert.equal(at.seen.at(-1)?.url, '/jobs/c_1/output?scope=s_1&stdout=5&stderr=0')
})

test('a wait that is over tells what came, and that it still runs', async () => {
  await using at = await wrongEndpoint({
    'GET /jobs/c_1/output': response => void ndjson(response).end(lines(out('so far'))),
  })
  const seen: string[] = []
  const onChunk = ({ bytes }: { bytes: Uint8Array }) => void seen.push(String(bytes))
  assert.equal(await at.exec.readJob(JOB, FROM, 10, onChunk, signal()), null)
  assert.deepEqual(seen, ['so far'])
  await assert.rejects(at.exec.followJob(JOB, FROM, onChunk, signal()), { code: 'endpoint_lost' })
})

test('output before what a reader has already is refused', async () => {
  await using at = await wrongEndpoint({
    'GET /jobs/c_1/output': response => void ndjson(response).end(lines(out('again', 2), EXIT)),
  })
  await assert.rejects(
    at.exec.followJob(JOB, { stdout: 5, stderr: 0 }, () => {}, signal()),
    { code: 'endpoint_wrong' },
  )
})

test('an abort lets go of a job and kills nothing; not before it is known to have begun', async () => {
  const asked = Promise.withResolvers<void>()
  const mayStart = Promise.withResolvers<void>()
  await using at = await wrongEndpoint({
    'POST /': async response => {
      asked.resolve()
      await mayStart.promise
      ndjson(response).write(lines(START))
    },
    'DELETE /jobs/c_1': response => json(response, STATE),
  })
  const abort = new AbortController()
  let settled = false
  const starting = at.exec
    .startJob({ command: 'ls' }, { ...JOB, keep: true }, { onChunk: () => {} }, abort.signal)
    .catch((error: unknown) => error)
    .finally(() => {
      settled = true
    })
  await asked.promise
  abort.abort()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(settled, false)
  mayStart.resolve()
  assert.ok(isError(await starting, 'aborted'))
  assert.deepEqual(
    at.seen.map(one => one.method),
    ['GET', 'POST'],
  )
  assert.equal((await at.exec.killJob(JOB, signal())).signal, 'SIGTERM')
})

test('stdin, keep, listing and a whole scope are asked for by name', async () => {
  await using at = await wrongEndpoint({
    'GET /jobs': response => json(response, { jobs: [STATE] }),
    'PATCH /jobs/c_1': response => json(response, STATE),
    'POST /jobs/c_1/stdin': response => json(response, {}),
    'DELETE /scopes/s_1': response => void response.writeHead(204).end(),
  })
  assert.deepEqual(await at.exec.listJobs('s_1', signal()), [STATE])
  await at.exec.keepJob(JOB, signal())
  await at.exec.writeJobStdin(JOB, Buffer.from('yes\n'), signal(), { end: true })
  await at.exec.killScope('s_1', signal())
  assert.deepEqual(
    at.seen.slice(1).map(one => `${one.method} ${one.url} ${one.body}`),
    [
      'GET /jobs?scope=s_1 ',
      'PATCH /jobs/c_1?scope=s_1 {"keep":true}',
      'POST /jobs/c_1/stdin?scope=s_1&eof=1 yes\n',
      'DELETE /scopes/s_1 ',
    ],
  )
})

test('a job that is kept later: its output may jump over what was dropped, and never goes back', async () => {
  await using at = await wrongEndpoint({
    'POST /': response => void ndjson(response).end(lines(START, out('a'), out('z', 900), EXIT)),
  })
  const seen: number[] = []
  const how = { onChunk: ({ offset }: { offset: number }) => void seen.push(offset) }
  await at.exec.startJob({ command: 'ls' }, { ...JOB, keep: false }, how, signal())
  assert.deepEqual(seen, [0, 900])
  await using back = await wrongEndpoint({
    'POST /': response => void ndjson(response).end(lines(START, out('ab'), out('b', 1), EXIT)),
  })
  await assert.rejects(back.exec.startJob({ command: 'ls' }, JOB, how, signal()), { code: 'endpoint_wrong' })
})
