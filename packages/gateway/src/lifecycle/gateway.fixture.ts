/** A gateway in this process for tests: a home of its own, tokens of several kinds, an agent that nobody can reach. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { systemClock, systemRandom } from '@beige/protocol'
import { loadText } from '../config/load.ts'
import { realSurroundings } from '../config/surroundings.ts'
import type { GatewayLog } from '../home/gateway-log.ts'
import { layoutOf, prepareHome } from '../home/layout.ts'
import { openApiTokens, PRESETS } from '../tokens/api-tokens.ts'
import { type NewVirtualKey, openVirtualKeys } from '../tokens/virtual-keys.ts'
import { startGateway } from './gateway.ts'

const CONFIG = {
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
  agents: {
    scout: {
      model: { provider: 'scripted', model: 'demo' },
      tools: [],
      sandbox: { driver: 'remote', url: 'http://127.0.0.1:9' },
    },
  },
  gateway: { port: 0, origins: ['https://ui.example.com'], publicHosts: ['beige.example.com'] },
}

export type TokenName = 'owner' | 'client' | 'reader' | 'elsewhere' | 'expired'

/** `sections` are put over the small configuration above; `home` of an earlier one: it is started again. */
export async function openTestGateway(
  sections: Record<string, unknown> = {},
  keysWanted: Readonly<Record<string, Partial<NewVirtualKey>>> = {},
  oldHome?: string,
) {
  const home = oldHome ?? mkdtempSync(join(tmpdir(), 'beige-gateway-'))
  const layout = layoutOf(home)
  prepareHome(layout)
  const models = { isKnownProvider: () => false, models: async () => [] }
  const loaded = await loadText(
    JSON.stringify({ ...CONFIG, ...sections }),
    layout.config,
    realSurroundings({ env: {}, beigeHome: home, models }),
  )
  if (!loaded.ok) throw new DOMException(loaded.lines.join('\n'), 'DataError')

  const tokens = openApiTokens(layout.tokens, systemClock, systemRandom)
  const made = (scopes: string, agents: string[] | null, expiresAt: number | null) =>
    tokens.create({ name: scopes, scopes: [...(PRESETS[scopes] ?? [])], agents, expiresAt })
  const secrets: Readonly<Record<TokenName, string>> = {
    owner: made('owner', null, null).token,
    client: made('client', null, null).token,
    reader: made('read-only', null, null).token,
    elsewhere: made('client', ['other'], null).token,
    expired: made('owner', null, 1).token,
  }
  const virtualKeys = openVirtualKeys(layout.keys, systemClock, systemRandom)
  const key = (wanted: Partial<NewVirtualKey> = {}) => {
    const whole = { label: 'test', models: ['*'], budget: null, rpm: null, expiresAt: null, ...wanted }
    return virtualKeys.create(whole).key
  }
  const keys: Record<string, string> = {}
  for (const [name, wanted] of Object.entries(keysWanted)) keys[name] = key(wanted)
  const lines: string[] = []
  const log: GatewayLog = {
    write: (level, line) => void lines.push(`${level} ${line}`),
    error: (what, error) => void lines.push(`error ${what} ${String(error)}`),
  }
  let stopAsked = 0
  const gateway = await startGateway({
    config: loaded.config,
    layout,
    clock: systemClock,
    random: systemRandom,
    drivers: {},
    plugins: { runner: new URL('../plugin-runner-main.ts', import.meta.url), nodeArgs: [], codeFolders: [] },
    log,
    strict: false,
    pid: process.pid,
    onStopAsked: () => stopAsked++,
    checkRestart: async () => null,
  })
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(gateway.summary)?.[1])
  return {
    layout,
    lines,
    port,
    /** By the names in which they were wanted. */
    keys,
    auditLines: () =>
      readFileSync(layout.audit, 'utf8')
        .trim()
        .split('\n')
        .map(line => JSON.parse(line)),
    token: (name: TokenName) => secrets[name],
    bearer: (name: TokenName) => ({ Authorization: `Bearer ${secrets[name]}` }),
    stopAsked: () => stopAsked,
    close: () => gateway.stop({ keepSandboxes: false }),
  }
}
export type TestGateway = Awaited<ReturnType<typeof openTestGateway>>

/** Every route behind the checks, with the scope that it needs. */
export const ROUTES: readonly [method: string, path: string, scope: string][] = [
  ['GET', '/api/health', 'read'],
  ['GET', '/api/agents', 'read'],
  ['POST', '/api/agents/scout/prompt', 'prompt'],
  ['POST', '/api/sessions/api%3Ascout%3Adefault/abort', 'prompt'],
  ['POST', '/api/gateway/stop', 'admin'],
  ['POST', '/api/gateway/restart', 'admin'],
  ['GET', '/api/tokens', 'admin'],
  ['POST', '/api/tokens', 'admin'],
  ['DELETE', '/api/tokens/x', 'admin'],
  ['DELETE', '/api/providers/scripted/demo/health', 'admin'],
  ['GET', '/api/usage', 'admin'],
  ['GET', '/api/keys', 'admin'],
  ['POST', '/api/keys', 'admin'],
  ['DELETE', '/api/keys/x', 'admin'],
  ['POST', '/v1/chat/completions', 'llm'],
  ['POST', '/v1/responses', 'llm'],
  ['POST', '/v1/messages', 'llm'],
  ['POST', '/v1/messages/count_tokens', 'llm'],
  ['GET', '/v1/models', 'llm'],
  ['GET', '/v1/models/x', 'llm'],
  ['POST', '/messages', 'llm'],
  ['POST', '/api/chat/stream', 'llm'],
]

export type Asked = { status: number; headers: IncomingHttpHeaders; body: string }
let addresses = 0

/** Each request comes from an address of its own, so that refusals do not count together; or from `from`. */
export function ask(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
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
