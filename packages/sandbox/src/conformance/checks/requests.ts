/** What an endpoint says about itself, and what it refuses before anything is started. */
import { EXEC_PROTOCOL, isError } from '@beige/protocol'
import { type Bench, expectRefused } from '../bench.ts'
import { type Check, expect, expectEqual, skipped } from '../check.ts'
import type { RawReply } from '../raw-http.ts'

/** More than this is not sent to find out whether it is refused, nor asked for. */
const MAX_TRIED_BYTES = 80 * 1024 * 1024
const TRIES = 3
const PART = Buffer.alloc(64 * 1024, 'A')

export const requestChecks: readonly Check[] = [
  {
    name: 'health names protocol, instance, features and limits',
    async run(bench) {
      const reply = await bench.send('GET', '/health')
      if (reply.status === 404) throw skipped('no /health: an agent uses the base request alone')
      expect(bench.health !== null, `not a health answer: ${reply.status} ${reply.body.subarray(0, 200)}`)
      expectEqual('protocol', bench.health.protocol, EXEC_PROTOCOL)
      expect(bench.health.instance.length >= 22, 'instance has no 128 random bits')
      const again = JSON.parse((await bench.send('GET', '/health')).body.toString())
      expectEqual('instance asked a second time', again.instance, bench.health.instance)
    },
  },
  {
    name: 'no token is 401',
    async run(bench) {
      const names = Object.keys(bench.http.headers)
      if (names.length === 0) throw skipped('no credentials were given')
      const nobody = await bench.send('POST', '', {
        isAnonymous: true,
        body: JSON.stringify(bench.tool('true')),
      })
      expectRefused('a request without credentials', nobody, 401, 'unauthorized')
      const wrong = Object.fromEntries(names.map(name => [name, wrongly(bench.http.headers[name] ?? '')]))
      const somebody = await bench.post(bench.tool('true'), wrong)
      expectRefused('a request with wrong credentials', somebody, 401, 'unauthorized')
      if (bench.health) {
        const health = await bench.send('GET', '/health', { isAnonymous: true })
        expectRefused('/health without credentials', health, 401, 'unauthorized')
      }
    },
  },
  {
    name: 'malformed body is 400',
    async run(bench) {
      const bodies = ['', '{', '[]', '{}', '{"command":1}', '{"command":"true","args":"x"}']
      bodies.push('{"command":"true","args":[1]}', '{"command":"true","stdin":"*"}')
      bodies.push('{"command":"true","timeout_ms":0}', '{"command":"true","timeout_ms":2147483648}')
      for (const body of bodies) {
        const reply = await bench.send('POST', '', { body })
        expectRefused(`the body ${body || 'of no bytes'}`, reply, 400, 'bad_request')
      }
    },
  },
  {
    name: 'oversized request is refused',
    programs: ['sh', 'cat'],
    async run(bench) {
      const most = bench.health?.limits.max_request_bytes
      if (most === undefined) throw skipped('no /health, so no max_request_bytes')
      if (most > MAX_TRIED_BYTES) throw skipped(`max_request_bytes is ${most}, too much to try`)
      const file = bench.path('ran')
      const { stdin: _, ...body } = { ...bench.sh('echo >> "$1"', file), stdin: '' }
      const [head, tail] = [`${JSON.stringify(body).slice(0, -1)},"stdin":"`, '"}']
      const length = most + 4 - ((most - head.length - tail.length) % 4)
      const headers = { 'content-type': 'application/json', 'content-length': String(length) }
      const reply = await answered(() => upload(bench, headers, head, length, tail))
      expectRefused('the request', reply, 413, 'too_large')
      expectEqual('marks of the command', (await bench.read(file)).length, 0)
    },
  },
  {
    name: 'over-cap answer is an error',
    programs: ['sh', 'head', 'cat'],
    async run(bench) {
      const most = bench.health?.limits.max_response_bytes
      if (most === undefined) throw skipped('no /health, so no max_response_bytes')
      if (most > MAX_TRIED_BYTES) throw skipped(`max_response_bytes is ${most}, too much to try`)
      const file = bench.path('ran')
      const body = bench.sh('echo >> "$2"; head -c "$1" /dev/zero', String(most + 1), file)
      const reply = await bench.post(body)
      expectRefused('the answer', reply, 413, 'too_large')
      expect(
        /\b(ran|run|running|started|executed)\b/i.test(reply.body.toString()),
        'it does not say that the command ran',
      )
      expectEqual('marks of the command', (await bench.read(file)).length, 1)
      const just = await bench.run(bench.sh('head -c "$1" /dev/zero', String(Math.floor(most / 2))))
      expectEqual('bytes of an answer of half the limit', just.stdout.length, Math.floor(most / 2))
    },
  },
]

/** An endpoint that refuses early closes on somebody who writes, and then its answer may be lost on the way. */
async function answered(ask: () => Promise<RawReply>): Promise<RawReply> {
  for (let tries = 1; tries < TRIES; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (!isError(error, 'check_failed')) throw error
    }
  }
  return await ask()
}

async function upload(
  bench: Bench,
  headers: Readonly<Record<string, string>>,
  head: string,
  length: number,
  tail: string,
) {
  const { request, reply } = bench.http.begin({ method: 'POST', path: '', headers }, bench.signal)
  let isOver = false
  const over = reply.finally(() => {
    isOver = true
  })
  over.catch(() => undefined)
  // Most endpoints refuse by the length alone, and read no more.
  const write = (bytes: string | Uint8Array) =>
    isOver || request.destroyed
      ? Promise.resolve()
      : Promise.race([
          new Promise<void>(resolve => request.write(bytes, () => resolve())),
          over.then(nothing, nothing),
        ])
  await write(head)
  let left = length - head.length - tail.length
  while (left > 0 && !isOver && !request.destroyed) {
    const part = PART.subarray(0, Math.min(left, PART.length))
    await write(part)
    left -= part.length
  }
  await write(tail)
  if (!isOver && !request.destroyed) request.end()
  try {
    return await reply
  } finally {
    request.destroy()
  }
}

const nothing = () => undefined

/** Another value of the same length and scheme. */
function wrongly(value: string): string {
  return value.slice(0, -1) + (value.endsWith('x') ? 'y' : 'x')
}
