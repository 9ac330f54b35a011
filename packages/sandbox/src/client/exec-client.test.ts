import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@beige/protocol'
import { EXIT, HEALTH, json, lines, ndjson, out, START, wrongEndpoint } from '../../test/wrong-endpoint.ts'
import { createExecClient } from './create-exec-client.ts'
import { MAX_LINE_BYTES } from './ndjson.ts'

const TEST_MS = 30_000
const signal = () => AbortSignal.timeout(TEST_MS)
const LS = { command: 'ls' }

test('a run collects both streams and sends what it was given', async () => {
  await using at = await wrongEndpoint(
    { 'POST /': response => void ndjson(response).end(lines(START, out('o'), out('e', 0, 'stderr'), EXIT)) },
    { fence: { scope: 's1', n: 4 } },
  )
  const stdin = new TextEncoder().encode('in')
  const result = await at.exec.run({ command: 'ls', args: ['-l', 'a b'], stdin, env: { X: null } }, signal())
  assert.equal(Buffer.from(result.stdout).toString(), 'o')
  assert.equal(Buffer.from(result.stderr).toString(), 'e')
  const request = at.seen.at(-1)
  assert.deepEqual(JSON.parse(request?.body ?? ''), {
    ...{ command: 'ls', args: ['-l', 'a b'], env: { X: null } },
    ...{ stdin: Buffer.from('in').toString('base64'), stream: true },
  })
  assert.equal(request?.headers['x-exec-fence'], 's1 4')
  assert.equal(request?.headers.authorization, 'Bearer t')
})

test('many commands share few connections', async () => {
  await using at = await wrongEndpoint({
    'POST /': response => void ndjson(response).end(lines(START, EXIT)),
  })
  for (let count = 0; count < 20; count++) await at.exec.run(LS, signal())
  assert.ok(at.connections() <= 2, `${at.connections()} connections`) // one for control, one for commands
})

test('a stream that is cut is lost, and it is known that the command had started', async () => {
  await using at = await wrongEndpoint({
    'POST /': response => void ndjson(response).write(lines(START), () => response.destroy()),
  })
  await assert.rejects(
    at.exec.run(LS, signal()),
    error => isError(error, 'endpoint_lost') && error.data.commandStarted === true,
  )
})

test('nobody there is another error than somebody lost', async () => {
  const gone = await wrongEndpoint({})
  await gone[Symbol.asyncDispose]()
  const exec = createExecClient({ kind: 'url', url: gone.url, headers: {} })
  await assert.rejects(exec.run(LS, signal()), { code: 'endpoint_unreachable' })
  await exec.close()
})

const WRONG_HEALTH: Readonly<Record<string, { status: number; body: string }>> = {
  'a web page': { status: 200, body: '<html>' },
  'an error page': { status: 500, body: '<html>oops' },
  'another protocol': { status: 200, body: JSON.stringify({ ...HEALTH, protocol: 'exec/9' }) },
  'another shape': { status: 200, body: '{"ok":true}' },
  'an endless answer': { status: 200, body: 'x'.repeat(100_000) },
}
for (const [title, { status, body }] of Object.entries(WRONG_HEALTH)) {
  test(`not an exec endpoint: ${title}`, async () => {
    await using at = await wrongEndpoint({
      'GET /health': response => void response.writeHead(status).end(body),
    })
    await assert.rejects(at.exec.health(signal()), error =>
      isError(error, 'endpoint_wrong', 'answer_too_large'),
    )
  })
}

test('a refusal comes with its code and its words', async () => {
  const error = { error: { code: 'unauthorized', message: 'no' } }
  await using at = await wrongEndpoint({ 'POST /': response => json(response, error, 401) })
  await assert.rejects(at.exec.run(LS, signal()), failed => {
    return isError(failed, 'endpoint_refused') && failed.data.code === 'unauthorized'
  })
})

test('a frame past the bound is refused, and its command is ended', async () => {
  await using at = await wrongEndpoint({
    'POST /': response => {
      ndjson(response).write(lines(START))
      response.write(`{"type":"stdout","offset":0,"data":"${'A'.repeat(MAX_LINE_BYTES)}`)
    },
    'DELETE /jobs/j1': response => json(response, {}),
  })
  await assert.rejects(at.exec.run(LS, signal()), { code: 'endpoint_wrong' })
  assert.equal(at.seen.at(-1)?.method, 'DELETE')
})

test('output past the bound of a result is an error that says that the command ran', async () => {
  const limits = { max_request_bytes: 1000, max_response_bytes: 10 }
  await using at = await wrongEndpoint({
    'GET /health': response => json(response, { ...HEALTH, limits }),
    'POST /': response => void ndjson(response).end(lines(START, out('123456'), out('789012', 6), EXIT)),
  })
  await assert.rejects(at.exec.run(LS, signal()), error => {
    return isError(error, 'answer_too_large') && error.data.commandStarted === true
  })
  const stdin = new Uint8Array(1000)
  await assert.rejects(at.exec.run({ ...LS, stdin }, signal()), { code: 'request_too_large' })
})

test('H20: an abort returns when the endpoint has said that nothing is left', async () => {
  const deleted = Promise.withResolvers<void>()
  const mayAnswer = Promise.withResolvers<void>()
  await using at = await wrongEndpoint({
    'POST /': response => void ndjson(response).write(lines(START)),
    'DELETE /jobs/j1': async response => {
      deleted.resolve()
      await mayAnswer.promise
      json(response, {})
    },
  })
  const abort = new AbortController()
  let settled = false
  const running = at.exec
    .stream(LS, () => undefined, abort.signal)
    .catch(error => error)
    .finally(() => {
      settled = true
    })
  await untilSeen(at.seen, 'POST')
  abort.abort()
  await deleted.promise
  assert.equal(settled, false)
  mayAnswer.resolve()
  const error = await running
  assert.ok(isError(error, 'aborted') && error.data.ended === true)
})

for (const [way, health] of [
  ['a stream', { ...HEALTH, features: ['stream'] }],
  ['a base request', { ...HEALTH, features: [] }],
] as const) {
  test(`H20: without jobs, an abort of ${way} hangs up and waits for the endpoint to do so`, async () => {
    const hungUp = Promise.withResolvers<void>()
    const mayClose = Promise.withResolvers<void>()
    await using at = await wrongEndpoint({
      'GET /health': response => json(response, health),
      'POST /': response => {
        response.socket?.once('end', async () => {
          hungUp.resolve()
          await mayClose.promise
          response.destroy()
        })
        if (health.features.length > 0) ndjson(response).write(lines(START))
      },
    })
    const abort = new AbortController()
    let settled = false
    const running = at.exec.run(LS, abort.signal).catch(error => {
      settled = true
      return error
    })
    await untilSeen(at.seen, 'POST')
    abort.abort()
    await hungUp.promise
    assert.equal(settled, false)
    mayClose.resolve()
    const error = await running
    assert.ok(isError(error, 'aborted') && error.data.ended === true)
  })
}

test('an abort of an endpoint that is gone ends too, and does not claim to know', async () => {
  await using at = await wrongEndpoint({
    'POST /': response => void ndjson(response).write(lines(START)),
    'DELETE /jobs/j1': response => void response.destroy(),
  })
  const abort = new AbortController()
  const running = at.exec.stream(LS, () => undefined, abort.signal).catch(error => error)
  await untilSeen(at.seen, 'POST')
  abort.abort()
  const error = await running
  assert.ok(isError(error, 'aborted') && error.data.ended === false)
})

test('nothing is sent for a signal that is aborted already', async () => {
  await using at = await wrongEndpoint({})
  await assert.rejects(at.exec.run(LS, AbortSignal.abort()), { code: 'aborted' })
  assert.deepEqual(at.seen, [])
})

test('a reader that throws ends the command, and its error comes through', async () => {
  await using at = await wrongEndpoint({
    'POST /': response => void ndjson(response).write(lines(START, out('x'))),
    'DELETE /jobs/j1': response => json(response, {}),
  })
  const mine = new Error('full')
  const reader = () => {
    throw mine
  }
  await assert.rejects(at.exec.stream(LS, reader, signal()), error => error === mine)
  assert.equal(at.seen.at(-1)?.method, 'DELETE')
})

test('a slow reader stops the sender', async () => {
  const MANY = 4000 // frames of 64 KiB, 350 MB: far more than all buffers on the way hold
  let written = 0
  await using at = await wrongEndpoint({
    'POST /': response => {
      ndjson(response).write(lines(START))
      const block = Buffer.alloc(48 * 1024, 'x')
      const push = () => {
        while (written < MANY) {
          const isTaken = response.write(lines(out(block, block.length * written)))
          written++
          if (!isTaken) return void response.once('drain', push)
        }
        response.end(lines(EXIT))
      }
      push()
    },
  })
  const mayGoOn = Promise.withResolvers<void>()
  let bytes = 0
  const running = at.exec.stream(
    LS,
    async chunk => {
      await mayGoOn.promise
      bytes += chunk.bytes.length
    },
    signal(),
  )
  // Both ends live in this loop: when many turns of it move nothing, nothing will move.
  for (let before = -1, still = 0; still < 500; still = before === written ? still + 1 : 0) {
    before = written
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.ok(written < MANY / 4, `${written} of ${MANY} frames were taken while the reader slept`)
  mayGoOn.resolve()
  await running
  assert.equal(bytes, MANY * 48 * 1024)
})

test('without /health the base request is used alone', async () => {
  const answer = { exit_code: 3, signal: null, timed_out: false, stdout: 'bw==', stderr: '' }
  await using at = await wrongEndpoint({
    'GET /health': response => json(response, { error: { code: 'not_found', message: 'no' } }, 404),
    'POST /': response => json(response, answer),
  })
  assert.equal(await at.exec.health(signal()), null)
  const chunks: string[] = []
  const end = await at.exec.stream(
    LS,
    chunk => void chunks.push(Buffer.from(chunk.bytes).toString()),
    signal(),
  )
  assert.deepEqual([end.exitCode, chunks], [3, ['o']])
  assert.deepEqual(JSON.parse(at.seen.at(-1)?.body ?? ''), LS)
})

test('close ends what is in flight', async () => {
  const at = await wrongEndpoint({
    'POST /': response => void ndjson(response).write(lines(START)),
    'DELETE /jobs/j1': response => json(response, {}),
  })
  const running = at.exec.run(LS, signal()).catch(error => error)
  await untilSeen(at.seen, 'POST')
  await at.exec.close()
  assert.ok(isError(await running, 'aborted'))
  assert.equal(at.seen.at(-1)?.method, 'DELETE')
  await assert.rejects(at.exec.run(LS, signal()), { code: 'aborted' })
  await at[Symbol.asyncDispose]()
})

async function untilSeen(seen: readonly { method: string }[], method: string): Promise<void> {
  while (!seen.some(request => request.method === method)) await new Promise(resolve => setImmediate(resolve))
}
