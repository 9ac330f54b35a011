/** A home of its own for a test, and the real `beige` command run in it. */

import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { compileCache } from '@beige/test-support'
import { type Layout, layoutOf } from '../src/home/layout.ts'

const MAIN = new URL('../src/main.ts', import.meta.url).pathname
const KV = new URL('../../../plugins/kv', import.meta.url).pathname

export type Ran = { code: number | null; out: string; err: string }

export type TestHome = {
  layout: Layout
  beige(...args: readonly string[]): Promise<Ran>
  /** Starts a command and leaves it running. */
  spawn(...args: readonly string[]): ReturnType<typeof spawn>
}

/** `agents` and other sections are put over a small good configuration. */
export function testHome(sections: Record<string, unknown> = {}): TestHome {
  const layout = layoutOf(mkdtempSync(join(tmpdir(), 'beige-home-')))
  const config = {
    llm: {
      providers: {
        scripted: {
          auth: 'none',
          baseUrl: 'http://127.0.0.1:9',
          api: 'anthropic-messages',
          models: [{ id: 'demo', contextWindow: 200_000, maxTokens: 8192 }],
        },
      },
    },
    plugins: { kv: { path: KV } },
    // Nobody answers there: enough where no tool runs, and the gateway has to live with it.
    agents: { scout: agentSection({ driver: 'remote', url: 'http://127.0.0.1:9' }) },
    gateway: { port: 0 },
    ...sections,
  }
  writeFileSync(layout.config, JSON.stringify(config, null, 2), { mode: 0o600 })
  const node = [...process.execArgv.filter(arg => arg.startsWith('--conditions')), MAIN]
  const env = { PATH: process.env.PATH, HOME: layout.home, BEIGE_HOME: layout.home, ...compileCache() }
  const start = (args: readonly string[]) => spawn(process.execPath, [...node, ...args], { env })
  return {
    layout,
    spawn: (...args) => start(args),
    async beige(...args) {
      const child = start(args)
      const exit = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)))
      const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exit])
      return { code, out, err }
    },
  }
}

export function agentSection(sandbox: Record<string, unknown>): Record<string, unknown> {
  return { model: { provider: 'scripted', model: 'demo' }, tools: ['kv'], sandbox }
}
