/** Plugins and a world for tests: real processes, folders of their own, the log kept for looking at. */

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallStreams } from '@beige/harness'
import { type Clock, systemClock } from '@beige/protocol'
import type { PluginConfig } from '../config/resolved.ts'
import { codeFolders } from './code-folders.ts'
import type { PluginRequest } from './plugin-calls.ts'
import { openPluginPipe, type PluginPipe } from './plugin-pipe.ts'
import type { PluginWorld } from './plugin-process.ts'

export type TestWorld = PluginWorld & { root: string; lines: string[] }

export function testWorld(): TestWorld {
  const root = mkdtempSync(join(tmpdir(), 'beige-plugins-'))
  const runner = new URL('../plugin-runner-main.ts', import.meta.url)
  const lines: string[] = []
  return {
    root,
    lines,
    clock: systemClock,
    runner,
    nodeArgs: process.execArgv.filter(arg => arg.startsWith('--conditions')),
    codeFolders: codeFolders(runner),
    dataDir: plugin => {
      const folder = join(root, 'data', plugin)
      mkdirSync(folder, { recursive: true })
      return folder
    },
    agentNames: ['scout'],
    log: (plugin, level, text) => lines.push(`${plugin} ${level} ${text}`),
  }
}

/** A plugin of one module, written to a folder of its own. `code` is the body of its `register(reg, config, context)`. */
export function writePlugin(
  world: TestWorld,
  name: string,
  tools: readonly string[],
  code: string,
): PluginConfig {
  const folder = join(world.root, 'plugins', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'index.mjs'),
    `export const createPlugin = (config, context) => ({ register(reg) {\n${code}\n} })\n`,
  )
  return {
    name,
    folder,
    manifest: {
      name,
      version: '1.0.0',
      description: 'A test',
      entry: 'index.mjs',
      provides: { tools: tools.length > 0 },
      tools: tools.map(tool => ({ name: tool, description: 'A test' })),
      engines: { beige: '1' },
    },
    config: { base: true },
    required: false,
  }
}

export type Collected = CallStreams & { out(): Buffer; err(): Buffer }

export function collected(stdin: readonly Uint8Array[] = []): Collected {
  const out: Uint8Array[] = []
  const err: Uint8Array[] = []
  return {
    stdin: (async function* () {
      yield* stdin
    })(),
    stdout: async bytes => void out.push(bytes),
    stderr: async bytes => void err.push(bytes),
    out: () => Buffer.concat(out),
    err: () => Buffer.concat(err),
  }
}

export const never = new AbortController().signal
export const request = (tool: string, argv: readonly (string | Uint8Array)[] = []): PluginRequest => ({
  tool,
  argv: argv.map(arg => (typeof arg === 'string' ? Buffer.from(arg) : arg)),
  cwd: null,
  agent: 'scout',
  session: null,
  config: { mine: true },
})

export async function withPlugin(
  code: string,
  run: (pipe: PluginPipe, world: TestWorld) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  const world = { ...testWorld(), clock }
  const pipe = await openPluginPipe(writePlugin(world, 't', ['t'], code), world)
  try {
    await pipe.start()
    await run(pipe, world)
  } finally {
    await pipe.stop(1000)
  }
}

export const ECHO = `reg.tool({ name: 't', description: 'x', async handler(args, call) {
  await call.stdout.write(JSON.stringify(call.argv.map(arg => Buffer.from(arg).toString('hex'))))
  for await (const bytes of call.stdin) await call.stderr.write(bytes)
  return { exitCode: 7, output: '.', data: { agent: call.agent, config: call.config } }
} })`

export async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!holds()) {
    assert.ok(performance.now() < deadline, 'did not come true within 10 s')
    await new Promise(resolve => setImmediate(resolve))
  }
}
