/**
 * One request of each provider row and wire, as it leaves this process, against golden/requests.txt (UPDATE_GOLDEN=1
 * writes it anew). The scripted server stands in for every vendor; what is recorded is where the request was meant to go.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { systemClock } from '@beige/protocol'
import { startModelServer } from '@beige/test-support'
import type { Api, Model } from '@earendil-works/pi-ai'
import { ask, KEY, ONCE, system, user } from '../test/wires.ts'
import type { Credential } from './endpoint.ts'
import { createModelRouter, type ModelRouterOptions } from './index.ts'
import { PROVIDERS, type ProviderRow, rowByUrl } from './provider-table.ts'

const server = await startModelServer({ script: () => ({ text: 'ok' }) })
after(() => server.close())

type Sent = { url: URL; headers: Headers }
const ACCOUNT = Buffer.from(
  JSON.stringify({ 'https://api.openai.com/auth': { chatgpt_account_id: 'acc_1' } }),
).toString('base64url')
const TOKEN: Readonly<Record<string, string>> = {
  anthropic: 'sk-ant-oat01-token-of-the-login',
  'openai-codex': `head.${ACCOUNT}.tail`,
  'github-copilot': 'tid=1;exp=9;proxy-ep=proxy.business.githubcopilot.com;8kp=1:token-of-the-login',
}

/** The vendor's path, as the scripted server has it. */
function standIn(url: URL): string {
  for (const end of ['/chat/completions', '/messages', '/codex/responses', '/responses'])
    if (url.pathname.endsWith(end)) return end === '/codex/responses' ? end : `/v1${end}`
  return url.pathname
}

async function sentBy(
  name: string,
  options: Partial<ModelRouterOptions>,
): Promise<{ sent: Sent; told: string; state: string }> {
  const sent: Sent[] = []
  const router = await createModelRouter({
    env: {},
    clock: systemClock,
    fallback: ONCE,
    ...options,
    fetch: async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input)
      const headers = new Headers(init?.headers)
      sent.push({ url, headers })
      return fetch(`${server.url}${standIn(url)}${url.search}`, init)
    },
  })
  const answer = await ask({ router, model: router.resolve(name) }, [system, user('hi')])
  const [first] = sent
  assert.ok(first && sent.length === 1, `${name}: ${sent.length} requests: ${answer.message.errorMessage}`)
  const told = JSON.stringify([answer.message, answer.outcome, answer.events])
  return { sent: first, told, state: answer.outcome.state }
}

function line(name: string, { url, headers }: Sent, secret: string): string {
  const holding = [...headers].filter(([, value]) => value.includes(secret)).map(([header]) => header)
  const known = ['openai-beta', 'anthropic-beta', 'anthropic-version', 'chatgpt-account-id', 'originator']
  const more = [...known, 'nvcf-poll-seconds', 'copilot-integration-id', 'editor-version', 'user-agent']
  const told = more.filter(header => headers.has(header)).map(header => `${header}: ${headers.get(header)}`)
  return [name, `POST ${url.href}`, `key in ${holding.join(', ') || 'none'}`, ...told].join('\n    ')
}

/** One model of each wire that the row's catalogue knows. */
async function samples(row: ProviderRow): Promise<Model<Api>[]> {
  const all = (await row.catalogue?.()) ?? []
  return [...new Map(all.map(model => [model.api, model])).values()]
}

async function lines(
  label: string,
  row: ProviderRow,
  names: readonly string[],
  options: Partial<ModelRouterOptions>,
  secret: string,
): Promise<string[]> {
  const out: string[] = []
  for (const name of names) {
    const { sent, told, state } = await sentBy(name, options)
    assert.equal(state, 'done', `${label} ${name}: ${told}`)
    assert.equal(rowByUrl(sent.url)?.id, row.id, `${sent.url} is not a host of ${row.id}`)
    assert.ok(!told.includes(secret), `${label} ${name}: a key is told`)
    out.push(line(`${row.id}: ${label}, ${name}`, sent, secret))
  }
  return out
}

test('every row: the right place, the key in the one right header and nowhere else', async () => {
  const out: string[] = []
  for (const row of PROVIDERS) {
    const models = await samples(row)
    const region = { AWS_REGION: 'eu-west-1' }
    if (row.variable !== null) {
      const env = { ...region, [row.variable]: KEY, AI_PROVIDER: row.id }
      out.push(
        ...(await lines(
          'variable',
          row,
          models.map(model => model.id),
          { env },
          KEY,
        )),
      )
    }
    if (row.loginUrl !== undefined) {
      const token = TOKEN[row.id] ?? ''
      const credential: Credential = { open: async () => ({ key: token }) }
      const logins = [{ provider: row.id, credential, serves: null }]
      out.push(
        ...(await lines(
          'login',
          row,
          models.map(model => `${row.id}/${model.id}`),
          { logins },
          token,
        )),
      )
    }
    const [host = ''] = row.hosts
    const env = { AI_BASE_URL: `https://${host.replace('*', 'eu-west-1')}/v1`, AI_API_KEY: KEY }
    if (row.variable === null && row.loginUrl === undefined)
      out.push(...(await lines('AI_BASE_URL', row, ['m-1'], { env }, KEY)))
  }
  const file = new URL('./golden/requests.txt', import.meta.url)
  const text = `${out.join('\n')}\n`
  if (process.env.UPDATE_GOLDEN === '1') await writeFile(file, text)
  assert.equal(text, await readFile(file, 'utf8'))
})

test("Bedrock signs with the access key, which is not sent, for the region's host", async () => {
  const secret = 'a/secret/access/key/of/the/test'
  const env = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: 'eu-west-1' }
  const { sent, told, state } = await sentBy('eu.anthropic.claude-sonnet-4-6', { env, takesUnknownIds: true })
  assert.equal(state, 'done', told)
  assert.equal(sent.url.host, 'bedrock-runtime.eu-west-1.amazonaws.com')
  assert.match(
    sent.headers.get('authorization') ?? '',
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}$/,
  )
  assert.ok(!JSON.stringify([...sent.headers]).includes(secret))
})

test('a gateway gets every id on the wire of its vendor, with the virtual key alone', async () => {
  const key = 'bai_v1.kid.payload.signature'
  const env = { AI_GATEWAY_URL: 'https://gateway.example/v1/', AI_AGENT_KEY: key, ANTHROPIC_API_KEY: KEY }
  const places: Record<string, string> = {}
  for (const name of ['claude-opus-4-8', 'gpt-5', 'gemini-2.5-flash', 'local/qwen-3']) {
    const { sent } = await sentBy(name, { env })
    places[name] = sent.url.href
    assert.deepEqual(
      [...sent.headers].filter(([, value]) => value.includes(key)).map(([header]) => header),
      ['authorization'],
    )
    assert.ok(!JSON.stringify([...sent.headers]).includes(KEY))
  }
  assert.deepEqual(places, {
    'claude-opus-4-8': 'https://gateway.example/v1/messages?beta=true',
    'gpt-5': 'https://gateway.example/v1/responses',
    'gemini-2.5-flash': 'https://gateway.example/v1/chat/completions',
    'local/qwen-3': 'https://gateway.example/v1/chat/completions',
  })
})
