/** The calls that run in one plugin process: their streams, windows, cancels and ends. */
import type { CallStreams } from '@beige/harness'
import { PLUGIN_FRAME, type PluginCallMessage, pluginResult } from '@beige/plugin-sdk'
import {
  type BinaryFrame,
  type Clock,
  createReceiveQueue,
  createSendWindow,
  decodeJson,
  decodeU32,
  encodeJson,
  encodeU32,
  FIRST_WINDOW_BYTES,
  type ReceiveQueue,
  type SendWindow,
} from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import type { PluginProcess } from './plugin-process.ts'

/** A handler that goes on after its call was cancelled is ended, with its process. */
export const CANCEL_GRACE_MS = 5_000
const HEARTBEAT_MS = 1_000
/** Longest silence of a process while calls run in it. */
export const SILENCE_LIMIT_MS = 10_000
const MAX_CALLS = 256

export type PluginEnd = { exitCode: number; data: unknown; outputBytes: number }
export type PluginRequest = Omit<PluginCallMessage, 'argv'> & { argv: readonly Uint8Array[] }

type Piece = { stream: 'stdout' | 'stderr'; bytes: Uint8Array }
type Running = {
  output: ReceiveQueue<Piece>
  input: SendWindow
  settle(end: { exitCode: number; data: unknown }): void
  fail(error: Error): void
}

const checkResult = compile(pluginResult)

export interface PluginCalls {
  /** Resolves when the plugin's code has returned; rejects with `plugin_failed` when its process went away. */
  run(request: PluginRequest, streams: CallStreams, signal: AbortSignal): Promise<PluginEnd>
  /** True where the frame belongs to a call. Throws on what breaks a rule. */
  take(frame: BinaryFrame): boolean
}

export function createPluginCalls(plugin: string, process: () => PluginProcess, clock: Clock): PluginCalls {
  const calls = new Map<number, Running>()
  let nextId = 1
  let heardAt = 0
  let isWatching = false

  async function run(request: PluginRequest, streams: CallStreams, signal: AbortSignal): Promise<PluginEnd> {
    signal.throwIfAborted()
    const { tell, gone, goneReason, kill } = process()
    const reason = goneReason()
    if (reason !== null) throw fail('plugin_failed', { plugin, reason })
    if (calls.size >= MAX_CALLS)
      throw fail('plugin_failed', { plugin, reason: `already runs ${MAX_CALLS} calls` })

    const id = nextId++
    const ended = Promise.withResolvers<{ exitCode: number; data: unknown }>()
    const running: Running = {
      output: createReceiveQueue<Piece>(
        FIRST_WINDOW_BYTES,
        bytes => tell(PLUGIN_FRAME.window, id, encodeU32(bytes)),
        piece => piece.bytes.length,
      ),
      input: createSendWindow(FIRST_WINDOW_BYTES),
      settle(end) {
        running.input.close('the call has ended')
        running.output.end()
        ended.resolve(end)
      },
      fail(error) {
        running.input.close(error.message)
        running.output.close(error.message)
        ended.reject(error)
      },
    }
    const over = new AbortController()
    const aborted = Promise.withResolvers<number>()
    let isCancelled = false
    const cancel = () => {
      aborted.resolve(0)
      if (isCancelled || over.signal.aborted) return
      isCancelled = true
      tell(PLUGIN_FRAME.cancel, id)
      clock.sleep(CANCEL_GRACE_MS, over.signal).then(
        () => kill(`went on for ${CANCEL_GRACE_MS} ms after a call was cancelled`),
        () => undefined,
      )
    }
    gone.then(why => running.fail(fail('plugin_failed', { plugin, reason: why })))
    signal.addEventListener('abort', cancel, { once: true })
    calls.set(id, running)
    watch()
    try {
      const argv = request.argv.map(arg => Buffer.from(arg).toString('base64'))
      tell(PLUGIN_FRAME.call, id, encodeJson({ ...request, argv }))
      feed(running, id, streams).catch(() => undefined) // a caller whose stdin broke has ended its input
      const drained = drain(running, streams)
      // Output that nobody can take any more: its reader is gone, so the call has no purpose.
      drained.catch(cancel)
      const end = await ended.promise
      // Nobody has to take the output of a call that was cancelled.
      const outputBytes = await Promise.race([drained.catch(() => 0), aborted.promise])
      return { ...end, outputBytes }
    } finally {
      over.abort()
      signal.removeEventListener('abort', cancel)
      calls.delete(id)
    }
  }

  async function feed(running: Running, id: number, streams: CallStreams): Promise<void> {
    try {
      for await (const bytes of streams.stdin)
        await running.input.send(bytes, piece => process().write(PLUGIN_FRAME.stdin, id, piece))
    } finally {
      if (calls.has(id)) process().tell(PLUGIN_FRAME.stdin, id)
    }
  }

  async function drain(running: Running, streams: CallStreams): Promise<number> {
    let bytes = 0
    for await (const piece of running.output) {
      bytes += piece.bytes.length
      await streams[piece.stream](piece.bytes)
    }
    return bytes
  }

  /** Heartbeats only while calls run: an idle plugin wakes nobody. */
  async function watch(): Promise<void> {
    if (isWatching) return
    isWatching = true
    heardAt = clock.monotonic()
    while (calls.size > 0 && process().goneReason() === null) {
      process().tell(PLUGIN_FRAME.ping, 0)
      await clock.sleep(HEARTBEAT_MS)
      if (calls.size > 0 && clock.monotonic() - heardAt > SILENCE_LIMIT_MS)
        process().kill(`was silent for ${SILENCE_LIMIT_MS} ms`)
    }
    isWatching = false
  }

  return {
    run,
    take({ type, id, payload }) {
      heardAt = clock.monotonic()
      const running = calls.get(id)
      switch (type) {
        case PLUGIN_FRAME.pong:
          return true
        case PLUGIN_FRAME.stdout:
        case PLUGIN_FRAME.stderr:
          running?.output.push({ stream: type === PLUGIN_FRAME.stdout ? 'stdout' : 'stderr', bytes: payload })
          return true
        case PLUGIN_FRAME.window:
          running?.input.allow(decodeU32(payload) ?? 0)
          return true
        case PLUGIN_FRAME.result: {
          const result = decodeJson(payload)
          if (!checkResult.check(result)) throw fail('plugin_protocol', { plugin, reason: 'a bad result' })
          running?.settle({ exitCode: result.exitCode, data: result.data })
          return true
        }
        default:
          return false
      }
    },
  }
}
