/** What a check works with: requests to the endpoint, a scope and file names of its own, time that is bounded. */
import { type Clock, type ExecHealth, isError, type Random } from '@beige/protocol'
import { compile, int, nullable, obj, oneOf, opt, type Static, str } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import { expect, expectEqual, skipped } from './check.ts'
import { type FrameReader, frameReader } from './frame-reader.ts'
import { newName } from './names.ts'
import type { Mailbox } from './notify-receiver.ts'
import { answerOf, type Workplace } from './programs.ts'
import type { RawHttp, RawReply, RawRequest } from './raw-http.ts'

const POLL_MS = 100
/** How long something must not move to count as ended; a ticker moves every 0.1 s. */
const STILL_MS = 1000

/** SIGTERM, 2 s, SIGKILL; and the rest for a busy machine. */
const GRACE_MS = 20_000

/** A body of `POST U`, free to be as wrong as a check wants it. */
export type Body = Readonly<Record<string, unknown>>
export type Ended = {
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  heldPipes: boolean
  stdout: Buffer
  stderr: Buffer
}

const jobState = obj(
  {
    id: str(),
    state: oneOf(['running', 'exited']),
    exit_code: opt(nullable(int())),
    signal: opt(nullable(str())),
    stdout_bytes: int(),
    stderr_bytes: int(),
    dropped_bytes: int(),
  },
  { open: true },
)
export type JobState = Static<typeof jobState>
const isJobState = compile(jobState).check

export interface Bench {
  readonly http: RawHttp
  readonly health: ExecHealth | null
  readonly clock: Clock
  readonly random: Random
  readonly signal: AbortSignal
  /** Of this check alone; killed at its end. */
  readonly scope: string
  /** Where the endpoint keeps its token, if the caller said so. */
  readonly tokenFile: string | null
  /** The longest that a kill may take. */
  readonly graceMs: number
  /** The absolute path of a file that only this check uses. */
  path(name: string): string
  /** A request that runs a program, or a script with its arguments as `$1`…. */
  tool(name: string, ...args: string[]): Body
  sh(script: string, ...args: string[]): Body
  /** `job` of a request: this check's scope, and an id. */
  job(id: string, more?: Body): Body
  send(method: string, path: string, more?: Omit<RawRequest, 'method' | 'path'>): Promise<RawReply>
  post(body: Body, headers?: Readonly<Record<string, string>>): Promise<RawReply>
  /** A one-shot command, which must be answered as one. */
  run(body: Body): Promise<Ended>
  stream(body: Body): Promise<FrameReader>
  /** Any other streamed answer. */
  frames(path: string): Promise<FrameReader>
  jobPath(id: string, more?: string, query?: string): string
  state(id: string): Promise<JobState>
  /** What a command finds in the file; empty when there is none. */
  read(path: string): Promise<string>
  write(path: string, text?: string): Promise<void>
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>
  /** Waits until a ticker has made its first mark, or one more. */
  untilTicking(path: string): Promise<void>
  /** Whether a ticker makes no mark for a second. */
  isStill(path: string): Promise<boolean>
  /** Waits until it makes none any more. */
  untilStill(path: string): Promise<void>
  mailbox(): Mailbox
}

/** A loop that makes a mark in the file `$1` every 0.1 s, and ends by itself after a minute, whatever happens. */
export const TICK =
  'i=0; while [ $i -lt 600 ]; do { echo >> "$1"; } 2>/dev/null || exit 0; sleep 0.1; i=$((i+1)); done'

export type BenchMakings = {
  http: RawHttp
  health: ExecHealth | null
  clock: Clock
  random: Random
  signal: AbortSignal
  workplace: Workplace
  tokenFile: string | null
  mailbox: (() => Mailbox) | null
  patience: number
}

export function makeBench(makings: BenchMakings): Bench & { cleanUp(signal: AbortSignal): Promise<void> } {
  const { http, health, clock, random, signal, workplace } = makings
  const name = newName(random)
  const scope = `conformance-${name}`
  const graceMs = GRACE_MS * makings.patience
  const streams: FrameReader[] = []

  const tool: Bench['tool'] = (program, ...args) => ({
    command: workplace.programs?.get(program) ?? program,
    args,
    ...(Object.keys(workplace.env).length > 0 ? { env: workplace.env } : {}),
  })
  const sh: Bench['sh'] = (script, ...args) => tool('sh', '-c', script, 'sh', ...args)
  const send: Bench['send'] = (method, path, more) => http.send({ ...more, method, path }, signal)
  const post: Bench['post'] = (body, headers) =>
    send('POST', '', {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })

  async function frames(request: RawRequest): Promise<FrameReader> {
    const message = await http.open(request, signal)
    const reader = frameReader(message)
    streams.push(reader)
    if (message.statusCode !== 200) {
      let text = ''
      for await (const part of message) text += part
      expect(false, `a stream was asked for, and the answer is ${message.statusCode}: ${text.slice(0, 200)}`)
    }
    const type = message.headers['content-type'] ?? ''
    expect(type.startsWith('application/x-ndjson'), `the type of a streamed answer is ${type || 'absent'}`)
    return reader
  }

  async function run(body: Body): Promise<Ended> {
    const reply = await post(body)
    const answer = answerOf(reply)
    const text = reply.body.subarray(0, 200).toString()
    expect(answer !== null, `not the answer of a command: ${reply.status} ${text}`)
    return {
      exitCode: answer.exit_code,
      signal: answer.signal,
      timedOut: answer.timed_out,
      heldPipes: answer.held_pipes ?? false,
      stdout: Buffer.from(answer.stdout, 'base64'),
      stderr: Buffer.from(answer.stderr, 'base64'),
    }
  }

  const read: Bench['read'] = async path =>
    (await run(sh('if [ -e "$1" ]; then cat "$1"; fi', path))).stdout.toString()

  async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    try {
      while (!(await isSo())) await clock.sleep(POLL_MS, signal)
    } catch (error) {
      if (!signal.aborted || isError(error, 'check_skipped')) throw error
      throw fail('check_failed', { reason: `this did not come to pass: ${what}` }, error)
    }
  }

  async function isStill(path: string): Promise<boolean> {
    const before = await read(path)
    await clock.sleep(STILL_MS, signal)
    return before === (await read(path))
  }

  const jobPath: Bench['jobPath'] = (id, more = '', query = '') =>
    `/jobs/${encodeURIComponent(id)}${more}?scope=${scope}${query && `&${query}`}`

  return {
    ...{ http, health, clock, random, signal, scope, graceMs, tokenFile: makings.tokenFile },
    ...{ tool, sh, send, post, run, read, until, isStill, jobPath },
    path: file => `${workplace.folder}/${name}-${file}`,
    job: (id, more = {}) => ({ id, scope, ...more }),
    frames: path => frames({ method: 'GET', path }),
    stream: body =>
      frames({
        method: 'POST',
        path: '',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, stream: true }),
      }),
    async state(id) {
      const reply = await send('GET', jobPath(id))
      expectEqual('the status of a job that is known', reply.status, 200)
      return jobStateOf(reply)
    },
    async write(path, text = '') {
      expectEqual('writing a file', (await run(sh('printf %s "$2" > "$1"', path, text))).exitCode, 0)
    },
    async untilTicking(path) {
      const before = await read(path)
      await until('the command runs', async () => (await read(path)) !== before)
    },
    async untilStill(path) {
      const sinceMs = clock.monotonic()
      await until('what the command left has ended', async () => {
        if (await isStill(path)) return true
        const ms = clock.monotonic() - sinceMs
        expect(ms < graceMs, `what the command left still runs after ${Math.round(ms)} ms`)
        return false
      })
    },
    mailbox() {
      if (makings.mailbox === null) {
        throw skipped('it is not known how the endpoint reaches this kit: --notify-url')
      }
      return makings.mailbox()
    },
    async cleanUp(either) {
      for (const stream of streams) stream.close()
      if (!health?.features.includes('jobs')) return
      await http.send({ method: 'DELETE', path: `/scopes/${scope}` }, either)
    },
  }
}

export function jobStateOf(reply: RawReply): JobState {
  const state = jsonOf(reply)
  expect(isJobState(state), `not a JobState: ${reply.body.subarray(0, 200).toString()}`)
  return state
}

export function jsonOf(reply: RawReply): unknown {
  try {
    return JSON.parse(reply.body.toString())
  } catch {
    throw fail('check_failed', { reason: `not JSON: ${reply.body.subarray(0, 200).toString()}` })
  }
}

/** A field of something that came as JSON; undefined where it is no object. */
export function field(value: unknown, ...names: string[]): unknown {
  let found = value
  for (const name of names) {
    found = typeof found === 'object' && found !== null ? Reflect.get(found, name) : undefined
  }
  return found
}

/** The request must have been refused, and say so in the shape and with the code of the page. */
export function expectRefused(what: string, reply: RawReply, status: number, code: string): void {
  expectEqual(`the status of ${what}`, reply.status, status)
  expectEqual(`the code of ${what}`, field(jsonOf(reply), 'error', 'code'), code)
}
