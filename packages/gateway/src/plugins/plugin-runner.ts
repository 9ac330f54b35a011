/**
 * Runs in a plugin's own process: loads the plugin, speaks the pipe, calls its handlers. What it knows of the world is what
 * came over the pipe.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Socket } from 'node:net'
import {
  type CreatePlugin,
  maxPluginFrameBytes,
  PIPE_DESCRIPTOR,
  PLUGIN_FRAME,
  type Plugin,
  pluginCall,
  pluginInit,
  type ToolRegistration,
} from '@beige/plugin-sdk'
import {
  type BinaryFrame,
  createFrameDecoder,
  createReceiveQueue,
  createSendWindow,
  decodeJson,
  decodeU32,
  encodeFrame,
  encodeJson,
  encodeU32,
  FIRST_WINDOW_BYTES,
  MAX_FRAME_PAYLOAD_BYTES,
  messageOf,
  type ReceiveQueue,
  type SendWindow,
} from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'

const MAX_LOG_CHARS = 4000
const MAX_DATA_BYTES = 49_152

const checkInit = compile(pluginInit)
const checkCall = compile(pluginCall)

type Running = { stdin: ReceiveQueue<Uint8Array>; output: SendWindow; cancel: AbortController }

export function runPlugin(): void {
  const pipe = new Socket({ fd: PIPE_DESCRIPTOR })
  const calls = new Map<number, Running>()
  const tools = new Map<string, ToolRegistration>()
  const inHandler = new AsyncLocalStorage<true>()
  let plugin: Plugin | null = null

  const send = (type: number, id: number, payload?: Uint8Array) =>
    new Promise<void>(resolve => pipe.write(encodeFrame(type, id, payload), () => resolve()))
  const log = (level: 'info' | 'error') => (text: string) =>
    void send(PLUGIN_FRAME.log, 0, encodeJson({ level, text: text.slice(0, MAX_LOG_CHARS) }))
  const fatal = (error: unknown) => {
    const message = messageOf(error).slice(0, MAX_LOG_CHARS)
    send(PLUGIN_FRAME.fatal, 0, encodeJson({ message })).then(() => process.exit(1))
  }

  async function init(payload: Uint8Array): Promise<void> {
    const message = decodeJson(payload)
    if (!checkInit.check(message)) throw fail('plugin_code', { reason: 'a bad init' })
    const module: unknown = await import(message.entry)
    const create = createPluginOf(module)
    if (create === null) throw fail('plugin_code', { reason: 'exports no createPlugin' })
    plugin = create(guarded(message.config, inHandler), {
      dataDir: message.dataDir,
      agentNames: message.agentNames,
      log: log('info'),
    })
    plugin.register({
      tool(registration) {
        if (tools.has(registration.name))
          throw fail('plugin_code', { reason: `registers "${registration.name}" twice` })
        tools.set(registration.name, registration)
      },
    })
    const offered = [...tools.values()].map(({ name, description }) => ({ name, description }))
    await send(PLUGIN_FRAME.ready, 0, encodeJson({ tools: offered }))
  }

  async function call(id: number, payload: Uint8Array): Promise<void> {
    const message = decodeJson(payload)
    if (!checkCall.check(message)) throw fail('plugin_code', { reason: 'a bad call' })
    const running: Running = {
      stdin: createReceiveQueue(
        FIRST_WINDOW_BYTES,
        bytes => void send(PLUGIN_FRAME.window, id, encodeU32(bytes)),
      ),
      output: createSendWindow(FIRST_WINDOW_BYTES),
      cancel: new AbortController(),
    }
    calls.set(id, running)
    const stream = (type: number) => ({
      write: (bytes: string | Uint8Array) =>
        running.output.send(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, piece =>
          send(type, id, piece),
        ),
    })
    const [stdout, stderr] = [stream(PLUGIN_FRAME.stdout), stream(PLUGIN_FRAME.stderr)]
    const argv = message.argv.map(arg => new Uint8Array(Buffer.from(arg, 'base64')))
    let exitCode = 1
    let data: unknown
    try {
      const tool = tools.get(message.tool)
      if (!tool) throw fail('plugin_code', { reason: `has no tool "${message.tool}"` })
      const outcome = await inHandler.run(true, () =>
        tool.handler(
          argv.map(arg => Buffer.from(arg).toString('utf8')),
          {
            agent: message.agent,
            session: message.session,
            cwd: message.cwd,
            argv,
            config: message.config,
            stdin: running.stdin,
            stdout,
            stderr,
            signal: running.cancel.signal,
            log: log('info'),
          },
        ),
      )
      if (outcome.output !== undefined) await stdout.write(outcome.output)
      if (outcome.error !== undefined) await stderr.write(outcome.error)
      exitCode = Number.isInteger(outcome.exitCode) && outcome.exitCode >= 0 ? outcome.exitCode & 255 : 1
      data = outcome.data
    } catch (error) {
      if (!running.cancel.signal.aborted) {
        log('error')(error instanceof Error ? (error.stack ?? error.message) : String(error))
        await stderr.write(`${messageOf(error)}\n`).catch(() => undefined)
      }
    } finally {
      calls.delete(id)
      running.stdin.close('the call has ended')
    }
    const result = encodeJson(data === undefined ? { exitCode } : { exitCode, data })
    const fits = result.length <= Math.min(MAX_DATA_BYTES + 64, MAX_FRAME_PAYLOAD_BYTES)
    await send(PLUGIN_FRAME.result, id, fits ? result : encodeJson({ exitCode }))
  }

  function take({ type, id, payload }: BinaryFrame): void {
    const running = calls.get(id)
    switch (type) {
      case PLUGIN_FRAME.init:
        init(payload).catch(fatal)
        return
      case PLUGIN_FRAME.start:
        Promise.resolve(plugin?.start?.()).then(() => send(PLUGIN_FRAME.started, 0), fatal)
        return
      case PLUGIN_FRAME.stop:
        Promise.resolve(plugin?.stop?.()).then(() => send(PLUGIN_FRAME.stopped, 0), fatal)
        return
      case PLUGIN_FRAME.call:
        call(id, payload).catch(fatal)
        return
      case PLUGIN_FRAME.stdin:
        if (payload.length === 0) running?.stdin.end()
        else running?.stdin.push(payload)
        return
      case PLUGIN_FRAME.window:
        running?.output.allow(decodeU32(payload) ?? 0)
        return
      case PLUGIN_FRAME.cancel:
        running?.cancel.abort()
        running?.output.close('the call was cancelled')
        running?.stdin.close('the call was cancelled')
        return
      case PLUGIN_FRAME.ping:
        void send(PLUGIN_FRAME.pong, id)
        return
      default:
        fatal(fail('plugin_code', { reason: `an unknown frame ${type}` }))
    }
  }

  const decoder = createFrameDecoder(maxPluginFrameBytes)
  pipe.on('data', (chunk: Buffer) => {
    for (const frame of decoder.push(chunk)) take(frame)
  })
  // Its gateway is gone: a plugin without one has nothing to do.
  pipe.on('close', () => process.exit(0))
  pipe.on('error', () => process.exit(0))
  process.on('unhandledRejection', fatal)
}

function createPluginOf(module: unknown): CreatePlugin | null {
  if (typeof module !== 'object' || module === null || !('createPlugin' in module)) return null
  const { createPlugin } = module
  return isCreatePlugin(createPlugin) ? createPlugin : null
}

function isCreatePlugin(value: unknown): value is CreatePlugin {
  return typeof value === 'function'
}

/** The base configuration throws where a handler reads it: there the agent's own is the one that counts (H90). */
function guarded(
  config: Readonly<Record<string, unknown>>,
  inHandler: AsyncLocalStorage<true>,
): Readonly<Record<string, unknown>> {
  return new Proxy(config, {
    get(target, key, receiver) {
      if (inHandler.getStore())
        throw fail('plugin_failed', {
          plugin: '',
          reason: 'reads the base config in a handler; use call.config',
        })
      return Reflect.get(target, key, receiver)
    },
  })
}
