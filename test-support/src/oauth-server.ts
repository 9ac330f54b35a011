/**
 * The login servers of Anthropic, OpenAI (ChatGPT) and GitHub (Copilot) on the real wire: codes, PKCE, device codes,
 * tokens that are good for one refresh. One server plays all of them; its `fetch` leads their hosts to it.
 *
 * @example
 * await using vendor = await startOauthServer()
 * // hand vendor.fetch to the flow, and let vendor.visit(url) be the person in the browser
 */
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { isRecord, text } from './json.ts'

export type OauthServer = AsyncDisposable & {
  /** Calls to the vendors' hosts come here, all others fail. */
  fetch: typeof globalThis.fetch
  /** The person says yes: the redirect is followed like a browser does; answers the URL that it ended at. */
  visit(authorizeUrl: string): Promise<{ redirectUrl: string; status: number }>
  /** The person types the code of a device; it may be polled for before. */
  approve(userCode: string): void
  /** `host path` of each call, in order. */
  calls: readonly string[]
  /** What the vendor would accept at the moment. */
  isValid(accessToken: string): boolean
  /** Refresh tokens are refused from now on, as after the person took the permission back. */
  revoke(): void
  /** How long an answer to a refresh takes; two that overlap can be told from one. */
  delayMs: number
}

export type OauthServerOptions = {
  /** Of new tokens; default one hour. */
  expiresInSeconds?: number
}

const HOSTS = [
  'platform.claude.com',
  'auth.openai.com',
  'github.com',
  'api.github.com',
  'api.individual.githubcopilot.com',
]

export async function startOauthServer(options: OauthServerOptions = {}): Promise<OauthServer> {
  const { expiresInSeconds = 3600 } = options
  const challenges = new Map<string, string>() // by code
  const devices = new Map<string, 'waits' | 'approved'>() // by user code
  const refreshTokens = new Set<string>()
  const accessTokens = new Set<string>()
  const calls: string[] = []
  let revoked = false

  const issued = (access = `access-${randomUUID()}`) => {
    const refresh = `refresh-${randomUUID()}`
    refreshTokens.add(refresh)
    accessTokens.add(access)
    return {
      access_token: access,
      refresh_token: refresh,
      expires_in: expiresInSeconds,
      token_type: 'bearer',
    }
  }
  /** A refresh token is good once; then it is known to have been stolen. */
  const token = (body: Record<string, string>, access: () => string): [number, object] => {
    if (body.grant_type === 'refresh_token') {
      const isGood = !revoked && refreshTokens.delete(body.refresh_token ?? '')
      return isGood ? [200, issued(access())] : [400, { error: 'invalid_grant' }]
    }
    const challenge = challenges.get(body.code ?? '')
    challenges.delete(body.code ?? '')
    const verified = createHash('sha256')
      .update(body.code_verifier ?? '')
      .digest('base64url')
    return challenge === verified ? [200, issued(access())] : [400, { error: 'invalid_grant' }]
  }

  const answer = (place: string, body: Record<string, string>, authorization: string): [number, object] => {
    switch (place) {
      case 'platform.claude.com/v1/oauth/token':
        return token(body, () => `sk-ant-oat01-${randomUUID()}`)
      case 'auth.openai.com/oauth/token':
        return token(body, chatGptToken)
      case 'auth.openai.com/api/accounts/deviceauth/usercode': {
        const userCode = randomUUID().slice(0, 8)
        devices.set(userCode, 'waits')
        return [200, { device_auth_id: userCode, user_code: userCode, interval: 1 }]
      }
      case 'auth.openai.com/api/accounts/deviceauth/token': {
        if (devices.get(body.user_code ?? '') !== 'approved') return [403, {}]
        const verifier = randomUUID()
        const code = randomUUID()
        challenges.set(code, createHash('sha256').update(verifier).digest('base64url'))
        return [200, { authorization_code: code, code_verifier: verifier }]
      }
      case 'github.com/login/device/code': {
        const userCode = randomUUID().slice(0, 8)
        devices.set(userCode, 'waits')
        const verification_uri = 'https://github.com/login/device'
        return [
          200,
          { device_code: userCode, user_code: userCode, verification_uri, interval: 1, expires_in: 900 },
        ]
      }
      case 'github.com/login/oauth/access_token':
        if (devices.get(body.device_code ?? '') !== 'approved')
          return [200, { error: 'authorization_pending' }]
        return [200, { access_token: issued(`gho_${randomUUID()}`).access_token }]
      case 'api.github.com/copilot_internal/v2/token': {
        if (revoked || !accessTokens.has(authorization)) return [401, { message: 'Bad credentials' }]
        const access = `tid=${randomUUID()};exp=1;proxy-ep=proxy.individual.githubcopilot.com`
        accessTokens.add(access)
        return [200, { token: access, expires_at: Math.floor(Date.now() / 1000) + expiresInSeconds }]
      }
      case 'api.individual.githubcopilot.com/models':
        return accessTokens.has(authorization) ? [200, COPILOT_MODELS] : [401, {}]
      default:
        return [404, { error: `no such endpoint: ${place}` }]
    }
  }

  const control = { delayMs: 0 }
  const server = createServer((request, response) => {
    void bodyOf(request).then(async body => {
      const [, host = '', ...rest] = (request.url ?? '').split('?')[0]?.split('/') ?? []
      const place = `${host}/${rest.join('/')}`
      calls.push(place)
      const [status, data] = answer(
        place,
        body,
        (request.headers.authorization ?? '').replace(/^Bearer /, ''),
      )
      if (control.delayMs > 0) await new Promise(resolve => setTimeout(resolve, control.delayMs))
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(data))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0

  return {
    fetch: async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input)
      if (!HOSTS.includes(url.host)) throw new Error(`not a login host: ${url.host}`)
      return fetch(`http://127.0.0.1:${port}/${url.host}${url.pathname}${url.search}`, init)
    },
    async visit(authorizeUrl) {
      const asked = new URL(authorizeUrl).searchParams
      const code = randomUUID()
      challenges.set(code, asked.get('code_challenge') ?? '')
      const redirect = new URL(asked.get('redirect_uri') ?? '')
      redirect.searchParams.set('code', code)
      redirect.searchParams.set('state', asked.get('state') ?? '')
      // The callback listens on the address, whatever `localhost` means on this machine.
      const callback = new URL(redirect)
      callback.hostname = '127.0.0.1'
      const status = await fetch(callback).then(
        page => page.status,
        () => 0,
      )
      return { redirectUrl: redirect.href, status }
    },
    approve: userCode => void devices.set(userCode, 'approved'),
    calls,
    isValid: access => accessTokens.has(access),
    revoke: () => {
      revoked = true
    },
    get delayMs() {
      return control.delayMs
    },
    set delayMs(ms) {
      control.delayMs = ms
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const COPILOT_MODELS = {
  data: [
    { id: 'claude-sonnet-4.6', model_picker_enabled: true, capabilities: { supports: { tool_calls: true } } },
    { id: 'gpt-5.6-sol', model_picker_enabled: true, capabilities: { supports: { tool_calls: true } } },
    { id: 'gpt-6-sol', model_picker_enabled: false, capabilities: { supports: { tool_calls: true } } },
  ],
}

function chatGptToken(): string {
  const claims = { 'https://api.openai.com/auth': { chatgpt_account_id: 'acc_test' }, jti: randomUUID() }
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, string>> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const raw = Buffer.concat(parts).toString('utf8')
  if (!raw.startsWith('{')) return Object.fromEntries(new URLSearchParams(raw))
  const data: unknown = JSON.parse(raw)
  const entries = isRecord(data) ? Object.entries(data) : []
  return Object.fromEntries(entries.map(([name, value]) => [name, text(value)]))
}
