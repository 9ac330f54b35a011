/**
 * The `fetch` that one attempt hands to a provider's library. It puts the key on, sends one request and no second, keeps
 * what the library would throw away (status, headers, the body of an error, the end of a stream), and reports every
 * byte, so that silence can be told from work.
 */
import type { Endpoint } from './endpoint.ts'
import { fail } from './errors.ts'
import { isObject, parse } from './json.ts'
import { createKeptBody, type KeptBody } from './kept-body.ts'
import type { Fetch } from './system-fetch.ts'

/** What is known of the one request; read after the library is done. */
export type Exchange = {
  sent: boolean
  /** Set when no answer came. */
  networkError: unknown
  status: number | null
  headers: Record<string, string>
  body: KeptBody
  /** The body ended as it should, on the level of HTTP. */
  ended: boolean
  /** Set when the connection broke in the middle of the body. */
  bodyError: unknown
}

const MAX_HEADERS = 100
const MAX_HEADER_CHARS = 2048
const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key']
// Libraries take these from the process environment; they are nobody's unless the configuration names them.
const AMBIENT_HEADERS = ['openai-organization', 'openai-project']

export function createTransport(
  endpoint: Endpoint,
  send: Fetch,
  signal: AbortSignal,
  onSound: () => void,
): { fetch: Fetch; exchange: Exchange } {
  const exchange: Exchange = {
    sent: false,
    networkError: null,
    status: null,
    headers: {},
    body: createKeptBody(),
    ended: false,
    bodyError: null,
  }
  const origin = new URL(endpoint.baseUrl).origin

  const once: Fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.origin !== origin) throw fail('wrong_place', { origin: url.origin, provider: endpoint.id })
    if (exchange.sent) throw fail('second_request', { provider: endpoint.id })
    exchange.sent = true
    const headers = new Headers(input instanceof Request ? input.headers : undefined)
    for (const [name, value] of new Headers(init?.headers ?? {})) headers.set(name, value)
    putKey(headers, endpoint)
    const signals = init?.signal ? [signal, init.signal] : [signal]
    let response: Response
    try {
      // A redirect would carry the key's header to another place.
      response = await send(input, {
        ...init,
        headers,
        redirect: 'manual',
        signal: AbortSignal.any(signals),
      })
    } catch (error) {
      exchange.networkError = error
      throw error
    }
    onSound()
    exchange.status = response.status
    exchange.headers = boundedHeaders(response.headers)
    return observed(response, exchange, onSound)
  }
  return { fetch: once, exchange }
}

/** The libraries get a placeholder; the key itself is put on here and nowhere else. */
export function placeholderKey(key: string | null): string {
  // pi-ai tells a subscription's token from a key by its first letters, and reads the account out of ChatGPT's.
  if (key?.startsWith('sk-ant-oat')) return 'sk-ant-oat-placeholder'
  const account = accountOf(key)
  return account === null ? 'sk-placeholder' : `placeholder.${btoa(JSON.stringify(account))}.placeholder`
}

const ACCOUNT_CLAIM = 'https://api.openai.com/auth'

function accountOf(token: string | null): object | null {
  const claims = parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString('utf8'))
  const claim = isObject(claims) ? claims[ACCOUNT_CLAIM] : undefined
  const id = isObject(claim) ? claim.chatgpt_account_id : undefined
  return typeof id === 'string' ? { [ACCOUNT_CLAIM]: { chatgpt_account_id: id } } : null
}

/** What Amazon's library is told, so that it looks into no environment and no file; null for every other. */
export function awsEnvironment({ aws, key }: Endpoint): Record<string, string> | null {
  if (aws === undefined) return null
  // With a bearer there is nothing to sign; without one the library signs, which needs the keys themselves.
  const { AWS_REGION = '' } = aws
  const auth =
    key !== null
      ? { AWS_REGION, AWS_BEARER_TOKEN_BEDROCK: placeholderKey(key) }
      : // Without keys it would look for some in files and ask the machine that it runs on.
        { ...aws, ...(signs(aws) ? {} : { AWS_BEDROCK_SKIP_AUTH: '1' }) }
  return { ...auth, AWS_BEDROCK_FORCE_HTTP1: '1' }
}

const signs = (aws: Readonly<Record<string, string>>): boolean =>
  aws.AWS_ACCESS_KEY_ID !== undefined && aws.AWS_SECRET_ACCESS_KEY !== undefined

function putKey(headers: Headers, endpoint: Endpoint): void {
  const isSigned = endpoint.aws !== undefined && endpoint.key === null && signs(endpoint.aws)
  for (const name of [...KEY_HEADERS, ...AMBIENT_HEADERS])
    if (!(isSigned && name === 'authorization')) headers.delete(name)
  for (const [name, value] of Object.entries(endpoint.headers)) headers.set(name, value)
  if (endpoint.key === null) return
  if (endpoint.keyIn !== 'bearer' && !endpoint.key.startsWith('sk-ant-oat'))
    headers.set(endpoint.keyIn, endpoint.key)
  else headers.set('authorization', `Bearer ${endpoint.key}`)
}

async function observed(response: Response, exchange: Exchange, onSound: () => void): Promise<Response> {
  const { body } = response
  if (body === null) {
    exchange.ended = true
    return response
  }
  const reader = body.getReader()
  const read = async (): Promise<Uint8Array | null> => {
    try {
      const { done, value } = await reader.read()
      onSound()
      if (!done) return value
      exchange.ended = true
      return null
    } catch (error) {
      exchange.bodyError = error
      throw error
    }
  }
  const about = { status: response.status, statusText: response.statusText, headers: response.headers }
  if (!response.ok) {
    // An error is read here, to its bound, and the library gets what was kept.
    while (!exchange.body.isFull()) {
      const bytes = await read()
      if (bytes === null) break
      exchange.body.push(bytes)
    }
    if (!exchange.ended) await reader.cancel()
    return new Response(exchange.body.head(), about)
  }
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await read()
        if (bytes === null) return controller.close()
        exchange.body.push(bytes)
        controller.enqueue(bytes)
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 }, // nothing is read before the library asks
  )
  return new Response(stream, about)
}

function boundedHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers]
      .filter(([name]) => name !== 'set-cookie')
      .slice(0, MAX_HEADERS)
      .map(([name, value]) => [name, value.slice(0, MAX_HEADER_CHARS)]),
  )
}
