/** A home of its own for a test, and the real `beige` command run in it. */
import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Layout, layoutOf } from '../home/layout.ts'

const MAIN = new URL('../main.ts', import.meta.url).pathname
const KV = new URL('../../../../plugins/kv', import.meta.url).pathname

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
  const env = { PATH: process.env.PATH, HOME: layout.home, BEIGE_HOME: layout.home }
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

export type Asked = { status: number; headers: Record<string, unknown>; body: string }

let addresses = 0

/** Each request comes from an address of its own, so that refusals do not count together; or from `from`. */
export function ask(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string | string[]> = {},
  body?: string,
  from?: string,
): Promise<Asked> {
  addresses++
  const localAddress = from ?? `127.1.${addresses >> 8}.${addresses & 255 || 1}`
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, method, path, headers, localAddress, agent: false })
    asked.once('error', reject)
    asked.once('response', async response => {
      const said = await text(response).catch(() => '')
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: said })
    })
    asked.end(body)
  })
}

/** Sends a head as it is written here; answers with the status of what comes back. */
export function askRaw(port: number, head: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    let said = ''
    socket.once('error', reject)
    socket.on('data', chunk => {
      said += chunk.toString('latin1')
      if (said.includes('\r\n\r\n')) socket.end()
    })
    socket.once('close', () => resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(said)?.[1] ?? 0)))
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
  })
}
