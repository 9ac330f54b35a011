/**
 * The process of one plugin and its pipe. It begins with an empty environment, may read its own folder and write its
 * `dataDir` (Node's permission model), and talks over one descriptor alone. When it breaks a rule it is ended.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { maxPluginFrameBytes, PIPE_DESCRIPTOR } from '@beige/plugin-sdk'
import { type BinaryFrame, type Clock, createFrameDecoder, encodeFrame, messageOf } from '@beige/protocol'
import type { PluginConfig } from '../config/resolved.ts'
import { fail } from '../errors.ts'
import { createLineReader } from './line-reader.ts'

export type PluginWorld = {
  clock: Clock
  /** Module that runs in the process, and what node needs to load it. */
  runner: URL
  nodeArgs: readonly string[]
  /** Folders with our own code that the runner loads. */
  codeFolders: readonly string[]
  dataDir(plugin: string): string
  agentNames: readonly string[]
  log(plugin: string, level: 'info' | 'error', text: string): void
}

export interface PluginProcess {
  /** Resolves when the process has taken the bytes off our hands. */
  write(type: number, id: number, payload?: Uint8Array): Promise<void>
  /** As `write`, for what nobody waits for; a broken pipe ends the process. */
  tell(type: number, id: number, payload?: Uint8Array): void
  /** Resolves with the reason when the process is gone. */
  readonly gone: Promise<string>
  /** Null while it lives. */
  goneReason(): string | null
  kill(reason: string): void
}

/** A throw of `take` ends the process: it broke a rule of the pipe. */
export function startPluginProcess(
  plugin: PluginConfig,
  world: PluginWorld,
  take: (frame: BinaryFrame) => void,
): PluginProcess {
  const dataDir = world.dataDir(plugin.name)
  const readable = [plugin.folder, dataDir, ...world.codeFolders]
  const args = [
    ...world.nodeArgs,
    '--permission',
    '--no-experimental-sqlite', // it opens files without asking the permission model
    ...readable.map(folder => `--allow-fs-read=${folder}`),
    `--allow-fs-write=${join(dataDir, '/')}`,
    fileURLToPath(world.runner),
  ]
  const child = spawn(process.execPath, args, {
    cwd: dataDir,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  child.stdout?.on(
    'data',
    createLineReader(text => world.log(plugin.name, 'info', text)),
  )
  child.stderr?.on(
    'data',
    createLineReader(text => world.log(plugin.name, 'error', text)),
  )
  const pipe = child.stdio[PIPE_DESCRIPTOR]
  if (!(pipe instanceof Duplex)) throw fail('plugin_failed', { plugin: plugin.name, reason: 'has no pipe' })

  const gone = Promise.withResolvers<string>()
  let reason: string | null = null
  let isGone = false
  const kill = (why: string) => {
    reason ??= why
    child.kill('SIGKILL')
  }
  const over = (why: string) => {
    reason ??= why
    isGone = true
    pipe.destroy()
    gone.resolve(reason)
  }
  child.on('error', error => over(messageOf(error)))
  child.on('exit', (code, signal) => over(`ended with ${signal ?? `exit code ${code}`}`))

  const decoder = createFrameDecoder(maxPluginFrameBytes)
  pipe.on('data', (chunk: Buffer) => {
    if (reason !== null) return
    try {
      for (const frame of decoder.push(chunk)) take(frame)
    } catch (error) {
      kill(messageOf(error))
    }
  })
  pipe.on('error', () => undefined) // the exit of the process tells

  const write = (type: number, id: number, payload?: Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      pipe.write(encodeFrame(type, id, payload), error => (error ? reject(error) : resolve()))
    })
  return {
    write,
    tell: (type, id, payload) => {
      write(type, id, payload).catch(error => kill(`its pipe is closed: ${messageOf(error)}`))
    },
    gone: gone.promise,
    goneReason: () => (isGone ? reason : null),
    kill,
  }
}
