/** Plugins and a world for tests: real processes, folders of their own, the log kept for looking at. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallStreams } from '@beige/harness'
import { systemClock } from '@beige/protocol'
import type { PluginConfig } from '../config/resolved.ts'
import { codeFolders } from './code-folders.ts'
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
