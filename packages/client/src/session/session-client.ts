/** One session, driven and watched from outside. Losing the connection changes nothing: it comes back and goes on. */
import {
  BeigeError,
  CLOSE,
  type Clock,
  type CommandOf,
  type CommandType,
  type Frame,
  type FrameOf,
  isFrameType,
  type PromptResult,
  type Random,
  systemClock,
  systemRandom,
} from '@beige/protocol'
import { clientErrors, fail } from '../errors.ts'
import type { AttachAsk, Channel, ChannelEnd, Dialer } from './channel.ts'
import { KEYED, maySendAgain, type Pending } from './pending.ts'
import { type Accepted, createEventQueue, type EventQueue, type Run } from './run.ts'

/** The fields of a command without its id and type. */
export type Fields<T extends CommandType> = {
  [K in keyof CommandOf<T> as K extends 'id' | 'type' ? never : K]: CommandOf<T>[K]
}

export type ConnectionState =
  | { is: 'connected'; ready: FrameOf<'ready'> }
  | { is: 'reconnecting'; attempt: number; inMs: number; why: string }
  | { is: 'closed'; end: ChannelEnd }

export type ConnectOptions = {
  dialer: Dialer
  /** Default: the server makes a new session. */
  sessionId?: string
  /** What to be sent of the past; default the newest messages. */
  ask?: AttachAsk
  /** Every frame in order, once; those of a gap are announced by `gap` and made good by `catchup`. */
  onFrame?: (frame: Frame) => void
  onState?: (state: ConnectionState) => void
  clock?: Clock
  random?: Random
}

export type SessionClient = AsyncDisposable & {
  readonly ready: FrameOf<'ready'>
  /** The highest numbered frame seen: what `after` takes to go on from here. */
  readonly seq: number
  /** Sends one command; resolves with its `data`. Errors: the server's codes, `unanswered`, `closed`. */
  command<T extends CommandType>(type: T, fields: Fields<T>): Promise<Record<string, unknown>>
  /** Runs a prompt; sent again with the same key after a lost connection, so it runs once. */
  prompt(message: string, more?: Omit<Fields<'prompt'>, 'message'>): Run
  /** Resolves when nothing of the run is left. */
  abort(): Promise<void>
  /** False: somebody else was first, or the question is no longer open. */
  approve(
    requestId: string,
    decision: 'allow' | 'deny',
    more?: { scope?: 'once' | 'session'; reason?: string },
  ): Promise<boolean>
  /** The session and its run go on. */
  close(): Promise<void>
}

const FINAL_CODES: readonly number[] = [
  CLOSE.done,
  CLOSE.binary,
  CLOSE.badText,
  CLOSE.policy,
  CLOSE.tooBig,
  CLOSE.failed,
  CLOSE.tokenRemoved,
  CLOSE.deleted,
]
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 5000
const LATER_MS = 1000 // what a server with a full slot asks for

/** Resolves with the first `ready`. Errors: `no_connection`, `refused`. */
export async function connectSession(options: ConnectOptions): Promise<SessionClient> {
  const { dialer, onFrame = () => {}, onState = () => {} } = options
  const { clock = systemClock, random = systemRandom } = options
  const pending = new Map<string, Pending>()
  const runs = new Map<string, Set<EventQueue>>()
  const ownViewers = new Set<string>()
  const first = Promise.withResolvers<FrameOf<'ready'>>()
  const closed = Promise.withResolvers<void>()
  const stop = new AbortController()
  let ready: FrameOf<'ready'> | undefined
  let seq = options.ask?.after ?? 0
  let channel: Channel | undefined
  let isReady = false
  let hasHole = false
  let nextId = 1
  let attempt = 0

  const dial = (): void => {
    const ask: AttachAsk = seq > 0 ? { ...options.ask, after: seq } : { ...options.ask }
    let hasEnded = false
    isReady = false
    hasHole = false
    channel = dialer.dial(ready?.session_id ?? options.sessionId, ask, {
      text: text => {
        const frame = parsed(text)
        if (frame) take(frame)
      },
      end: end => {
        if (hasEnded) return
        hasEnded = true
        lost(end)
      },
    })
  }

  const take = (frame: Frame): void => {
    if (hasHole) return
    if (frame.type === 'ready') {
      welcome(frame)
      return
    }
    const isAnnounced = frame.type === 'gap' || frame.type === 'catchup'
    if (!isAnnounced && frame.seq > seq + (frame.type === 'heartbeat' ? 0 : 1)) {
      hasHole = true // frames were lost: the next connection begins after the last one that came
      channel?.close()
      return
    }
    seq = Math.max(seq, frame.seq)
    if (frame.type === 'event') for (const queue of runs.get(frame.run_id) ?? []) queue.push(frame.event)
    if (frame.type === 'ack' || frame.type === 'response') answer(frame)
    onFrame(frame)
  }

  const welcome = (frame: FrameOf<'ready'>): void => {
    // A server without our past, or another session after a fork: its numbers count from here.
    if (seq === 0 || ready?.session_id !== frame.session_id) seq = frame.seq
    ready = frame
    isReady = true
    attempt = 0
    ownViewers.add(frame.viewer)
    first.resolve(frame)
    onState({ is: 'connected', ready: frame })
    onFrame(frame)
    for (const one of pending.values()) channel?.send(one.text)
  }

  // Numbered answers reach every viewer, and ids of different viewers may be the same.
  const answer = (frame: FrameOf<'ack'> | FrameOf<'response'>): void => {
    const one = frame.id === undefined ? undefined : pending.get(frame.id)
    if (!one || frame.id === undefined) return
    if (frame.origin && !ownViewers.has(frame.origin.viewer)) return
    if (frame.type === 'ack') {
      one.onAck?.(frame)
      return
    }
    pending.delete(frame.id)
    if (frame.success) one.resolve(frame)
    else one.reject(errorOf(frame))
  }

  const lost = (end: ChannelEnd): void => {
    const isAsked = FINAL_CODES.includes(end.code ?? -1) && !hasHole
    const isFinal = stop.signal.aborted || !dialer.canReopen || isAsked
    for (const [id, one] of pending) {
      if (!isFinal && maySendAgain(one.type)) continue
      pending.delete(id)
      one.reject(stop.signal.aborted ? fail('closed') : fail('unanswered', { command: one.type }))
    }
    const reason = end.reason || `close code ${end.code}`
    if (!ready)
      first.reject(
        fail(isFinal && dialer.canReopen ? 'refused' : 'no_connection', { address: dialer.address, reason }),
      )
    if (isFinal || !ready) {
      for (const queues of runs.values()) for (const queue of queues) queue.end()
      onState({ is: 'closed', end })
      closed.resolve()
      return
    }
    const inMs = waitMs(end.code, attempt, random)
    attempt += 1
    onState({ is: 'reconnecting', attempt, inMs, why: reason })
    clock.sleep(inMs, stop.signal).then(dial, () => {
      onState({ is: 'closed', end })
      closed.resolve()
    })
  }

  const request = (
    type: CommandType,
    fields: object,
    onAck?: (ack: FrameOf<'ack'>) => void,
  ): Promise<FrameOf<'response'>> => {
    const id = `c${nextId}`
    nextId += 1
    const key = KEYED.has(type) && !('idempotency_key' in fields) ? { idempotency_key: newKey(random) } : {}
    const text = JSON.stringify({ ...fields, ...key, id, type })
    return new Promise((resolve, reject) => {
      if (stop.signal.aborted) return reject(fail('closed'))
      pending.set(id, { type, text, resolve, reject, ...(onAck && { onAck }) })
      if (isReady) channel?.send(text)
    })
  }

  dial()
  await first.promise

  const client: SessionClient = {
    get ready() {
      if (!ready) throw fail('closed')
      return ready
    },
    get seq() {
      return seq
    },
    command: async (type, fields) => (await request(type, fields)).data ?? {},
    prompt: (message, more = {}) => {
      const queue = createEventQueue()
      const accepted = Promise.withResolvers<Accepted>()
      let runId: string | undefined
      const listen = (ack: FrameOf<'ack'>): void => {
        if (ack.run_id === undefined || runId !== undefined) return
        runId = ack.run_id
        runs.set(runId, (runs.get(runId) ?? new Set()).add(queue))
        accepted.resolve({ runId, isDuplicate: ack.duplicate === true })
      }
      const result = request('prompt', { ...more, message }, listen)
        .then((response): PromptResult => resultOf(response))
        .catch(error => {
          accepted.reject(error)
          throw error
        })
        .finally(() => {
          queue.end()
          if (runId !== undefined) runs.get(runId)?.delete(queue)
        })
      // Whoever asks for one of them is told; the other is no unhandled rejection.
      result.catch(() => {})
      accepted.promise.catch(() => {})
      return {
        accepted: accepted.promise,
        result,
        [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
      }
    },
    abort: async () => void (await request('abort', {})),
    approve: async (request_id, decision, more = {}) => {
      const { data } = await request('approve', { ...more, request_id, decision })
      return data?.accepted === true
    },
    close: async () => {
      stop.abort(fail('closed'))
      channel?.close()
      await closed.promise
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
  return client
}

function waitMs(code: number | null, attempt: number, random: Random): number {
  if (code === CLOSE.released && attempt === 0) return 0
  if (code === CLOSE.later) return LATER_MS
  const ms = Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS)
  return ms * (0.5 + (random.bytes(1)[0] ?? 0) / 512) // spread, so that a thousand clients do not come back at once
}

/** A frame of a kind that this version knows; others are for newer clients. */
function parsed(text: string): Frame | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const isFrame = (one: unknown): one is Frame =>
    typeof one === 'object' &&
    one !== null &&
    'type' in one &&
    typeof one.type === 'string' &&
    isFrameType(one.type)
  return isFrame(value) ? value : undefined
}

function errorOf({
  command,
  code,
  error = 'failed',
  advice = '',
  data = {},
}: FrameOf<'response'>): BeigeError {
  const retryable = code === 'busy' || code === 'unavailable' || code === 'queue_full' || code === 'timeout'
  return new BeigeError(
    code ?? 'internal',
    { ...clientErrors.command, retryable },
    { command, error, advice, ...data },
    undefined,
  )
}

function resultOf(response: FrameOf<'response'>): PromptResult {
  return response.data as PromptResult // the server's own schema; a client does not check its server
}

function newKey(random: Random): string {
  return Buffer.from(random.bytes(16)).toString('base64url')
}
