/** Keeps a plugin alive: started again 1 s … 60 s after it went away. Its end fails its calls and nothing else. */
import { messageOf } from '@beige/protocol'
import type { PluginConfig } from '../config/resolved.ts'
import { fail } from '../errors.ts'
import type { PluginCalls } from './plugin-calls.ts'
import { openPluginPipe, type PluginPipe } from './plugin-pipe.ts'
import type { PluginWorld } from './plugin-process.ts'

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** A life of this length clears the record of earlier deaths. */
const GOOD_LIFE_MS = 60_000

export type PluginState =
  | { state: 'ready' }
  | { state: 'starting' }
  | { state: 'failed'; reason: string; retryInMs: number }
  | { state: 'stopped' }

export interface PluginSupervisor {
  readonly plugin: PluginConfig
  state(): PluginState
  run: PluginCalls['run']
  /** The first life, up to `register`; rejects where it fails, and then nothing goes on. */
  load(): Promise<void>
  /** The plugin's own `start`; rejects where it fails, and then it is tried again by itself. */
  start(): Promise<void>
  stop(timeoutMs: number): Promise<void>
}

export function supervisePlugin(plugin: PluginConfig, world: PluginWorld): PluginSupervisor {
  const stopping = new AbortController()
  let state: PluginState = { state: 'starting' }
  let pipe: PluginPipe | null = null
  let deaths = 0
  let cycle: Promise<void> = Promise.resolve()

  async function live(first: PluginPipe): Promise<void> {
    let current: PluginPipe | null = first
    while (!stopping.signal.aborted) {
      const begun = world.clock.monotonic()
      let reason: string
      try {
        current ??= await openAndStart()
        pipe = current
        state = { state: 'ready' }
        reason = await current.gone
      } catch (error) {
        reason = messageOf(error)
      }
      current = null
      pipe = null
      if (stopping.signal.aborted) return
      deaths = world.clock.monotonic() - begun > GOOD_LIFE_MS ? 0 : deaths + 1
      const retryInMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, deaths - 1))
      state = { state: 'failed', reason, retryInMs }
      world.log(plugin.name, 'error', `${reason}; started again in ${retryInMs} ms`)
      await world.clock.sleep(retryInMs, stopping.signal).catch(() => undefined)
      state = { state: 'starting' }
    }
  }

  async function openAndStart(): Promise<PluginPipe> {
    const opened = await openPluginPipe(plugin, world)
    await opened.start()
    return opened
  }

  return {
    plugin,
    state: () => state,
    async run(request, streams, signal) {
      if (pipe === null) {
        const reason = state.state === 'failed' ? state.reason : `is ${state.state}`
        throw fail('plugin_failed', { plugin: plugin.name, reason })
      }
      return pipe.run(request, streams, signal)
    },
    async load() {
      pipe = await openPluginPipe(plugin, world)
    },
    async start() {
      const loaded = pipe
      if (loaded === null) throw fail('plugin_failed', { plugin: plugin.name, reason: 'was not loaded' })
      try {
        await loaded.start()
        state = { state: 'ready' }
      } finally {
        cycle = live(loaded)
      }
    },
    async stop(timeoutMs) {
      stopping.abort(fail('unavailable'))
      state = { state: 'stopped' }
      await pipe?.stop(timeoutMs)
      await cycle
    },
  }
}
