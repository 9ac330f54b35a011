/** One life of a plugin: its process is started, says what it offers, runs calls, and is gone at last. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PLUGIN_FRAME, type PluginReady, pluginFatal, pluginLog, pluginReady } from '@beige/plugin-sdk'
import { type BinaryFrame, decodeJson, encodeJson } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import type { PluginConfig } from '../config/resolved.ts'
import { fail } from '../errors.ts'
import { createPluginCalls, type PluginCalls } from './plugin-calls.ts'
import { type PluginProcess, type PluginWorld, startPluginProcess } from './plugin-process.ts'

const READY_TIMEOUT_MS = 10_000
const START_TIMEOUT_MS = 30_000

export interface PluginPipe {
  readonly tools: PluginReady['tools']
  readonly run: PluginCalls['run']
  readonly gone: Promise<string>
  /** The plugin's own `start`; effects begin here. */
  start(): Promise<void>
  /** Its own `stop`, then the end of the process. */
  stop(timeoutMs: number): Promise<void>
}

const checkReady = compile(pluginReady)
const checkLog = compile(pluginLog)
const checkFatal = compile(pluginFatal)

/** Rejects with `plugin_failed` where the code does not load, or offers something else than its manifest. */
export async function openPluginPipe(plugin: PluginConfig, world: PluginWorld): Promise<PluginPipe> {
  const { name } = plugin
  const replies = new Map<number, (payload: Uint8Array) => void>()
  const calls = createPluginCalls(name, () => process, world.clock)
  const process: PluginProcess = startPluginProcess(plugin, world, frame => {
    if (!calls.take(frame)) takeOther(frame)
  })

  function takeOther({ type, payload }: BinaryFrame): void {
    switch (type) {
      case PLUGIN_FRAME.ready:
      case PLUGIN_FRAME.started:
      case PLUGIN_FRAME.stopped:
        replies.get(type)?.(payload)
        return
      case PLUGIN_FRAME.log: {
        const entry = decodeJson(payload)
        if (checkLog.check(entry)) world.log(name, entry.level, entry.text)
        return
      }
      case PLUGIN_FRAME.fatal: {
        const fatal = decodeJson(payload)
        process.kill(checkFatal.check(fatal) ? fatal.message : 'could not go on')
        return
      }
      default:
        throw fail('plugin_protocol', { plugin: name, reason: `an unknown frame ${type}` })
    }
  }

  async function ask(
    type: number,
    reply: number,
    payload: Uint8Array,
    timeoutMs: number,
  ): Promise<Uint8Array> {
    const answer = new Promise<Uint8Array>(resolve => replies.set(reply, resolve))
    process.tell(type, 0, payload)
    const answered = new AbortController()
    const late = async () => {
      await world.clock.sleep(timeoutMs, answered.signal)
      process.kill(`did not answer within ${timeoutMs} ms`)
      return process.gone.then(died)
    }
    const died = (reason: string) => Promise.reject(fail('plugin_failed', { plugin: name, reason }))
    try {
      return await Promise.race([answer, process.gone.then(died), late()])
    } finally {
      answered.abort()
      replies.delete(reply)
    }
  }

  const init = encodeJson({
    entry: pathToFileURL(join(plugin.folder, plugin.manifest.entry)).href,
    dataDir: world.dataDir(name),
    agentNames: world.agentNames,
    config: plugin.config,
  })
  const answer = decodeJson(await ask(PLUGIN_FRAME.init, PLUGIN_FRAME.ready, init, READY_TIMEOUT_MS))
  const mismatch = checkReady.check(answer) ? offersMismatch(plugin, answer) : 'sent a bad answer to init'
  if (mismatch !== null || !checkReady.check(answer)) {
    process.kill(mismatch ?? '')
    throw fail('plugin_failed', { plugin: name, reason: mismatch })
  }
  return {
    tools: answer.tools,
    run: calls.run,
    gone: process.gone,
    start: async () => {
      await ask(PLUGIN_FRAME.start, PLUGIN_FRAME.started, EMPTY, START_TIMEOUT_MS)
    },
    stop: async timeoutMs => {
      await ask(PLUGIN_FRAME.stop, PLUGIN_FRAME.stopped, EMPTY, timeoutMs).catch(() => undefined)
      process.kill('was stopped')
      await process.gone
    },
  }
}

const EMPTY = new Uint8Array(0)

/** What the manifest says and what `register` did must be the same (H97). */
function offersMismatch(plugin: PluginConfig, ready: PluginReady): string | null {
  const declared = new Set((plugin.manifest.tools ?? []).map(tool => tool.name))
  const registered = ready.tools.map(tool => tool.name)
  for (const name of registered)
    if (!declared.has(name)) return `registered the tool "${name}", which its plugin.json does not list`
  for (const name of declared)
    if (!registered.includes(name)) return `did not register the tool "${name}" of its plugin.json`
  return null
}
