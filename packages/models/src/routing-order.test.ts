/**
 * The routing order over all combinations of its sources × all providers, against golden/routing-order.txt: run with
 * UPDATE_GOLDEN=1 to write it anew. One line is one combination, one column one provider.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { PROVIDERS, type ProviderRow } from './provider-table.ts'
import { type RouteSources, type Way, wayOf } from './routing-order.ts'

const GATEWAY = ['.', 'gateway', 'direct'] as const
const BASE_URL = ['.', 'own', 'other'] as const
const CHOSEN = ['.', 'this', 'other'] as const
const FLAG = [false, true] as const

type Combination = {
  gateway: (typeof GATEWAY)[number]
  file: boolean
  baseUrl: (typeof BASE_URL)[number]
  chosen: (typeof CHOSEN)[number]
  key: boolean
  login: boolean
  variable: boolean
}

function* combinations(): Generator<Combination> {
  for (const gateway of GATEWAY)
    for (const file of FLAG)
      for (const baseUrl of BASE_URL)
        for (const chosen of CHOSEN)
          for (const key of FLAG)
            for (const login of FLAG)
              for (const variable of FLAG) yield { gateway, file, baseUrl, chosen, key, login, variable }
}

const idOf = (row: ProviderRow): string => (row.prefixes[0] === undefined ? 'llama-9' : `${row.prefixes[0]}9`)
const urlOf = (row: ProviderRow): string => `https://${row.hosts[0]?.replace('*', 'eu-west-1')}/v1`

function sourcesOf(row: ProviderRow, of: Combination): RouteSources {
  const other = row.id === 'groq' ? 'openrouter' : 'groq'
  const env: Record<string, string> = {
    ...(of.gateway === '.' ? {} : { AI_GATEWAY_URL: 'https://gateway.example' }),
    ...(of.gateway === 'direct' ? { AI_DIRECT: '1' } : {}),
    ...(of.baseUrl === '.'
      ? {}
      : { AI_BASE_URL: of.baseUrl === 'own' ? urlOf(row) : 'http://gpu.example/v1' }),
    ...(of.chosen === '.' ? {} : { AI_PROVIDER: of.chosen === 'this' ? row.id : other }),
    ...(of.key ? { AI_API_KEY: 'k' } : {}),
    ...(of.variable && row.variable !== null ? { [row.variable]: 'k' } : {}),
    AWS_REGION: 'eu-west-1',
  }
  const id = idOf(row)
  const logins =
    of.login && row.loginUrl !== undefined ? [{ provider: row.id, serves: (one: string) => one === id }] : []
  return { env, logins, moved: new Set(of.file ? [id] : []) }
}

/** In few letters: the source, whose row it is when not the column's, and where the key is; `-`: what would help. */
function cell(row: ProviderRow, way: Way): string {
  const whose = (other: ProviderRow | null) => (other?.id === row.id ? '' : `:${other?.id ?? 'any'}`)
  switch (way.source) {
    case 'gateway':
      return 'G'
    case 'models.json':
      return '1'
    case 'AI_BASE_URL':
      return `2${whose(way.row)}`
    case 'AI_PROVIDER':
      return `3${whose(way.row)}${way.variable === 'AI_API_KEY' ? '*' : ''}`
    case 'login':
      return '4'
    case 'variable':
      return `5${whose(way.row)}`
    case 'none':
      if ('login' in way.help) return '-login'
      return `-${way.help.variable === row.variable ? 'own' : way.help.variable}`
    default:
      return way satisfies never
  }
}

test('every combination of sources × every provider', async () => {
  const head = ['gateway', 'file', 'AI_BASE_URL', 'AI_PROVIDER', 'AI_API_KEY', 'login', 'variable', '|']
  const lines = [[...head, ...PROVIDERS.map(row => row.id)]]
  for (const of of combinations()) {
    const { gateway, file, baseUrl, chosen, key, login, variable } = of
    const flags = [file, key, login, variable].map(one => (one ? 'yes' : '.'))
    const sources = [gateway, flags[0] ?? '', baseUrl, chosen, ...flags.slice(1), '|']
    lines.push([...sources, ...PROVIDERS.map(row => cell(row, wayOf(idOf(row), sourcesOf(row, of))))])
  }
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0))) ?? []
  const table = `${lines
    .map(line =>
      line
        .map((one, i) => one.padEnd(widths[i] ?? 0))
        .join(' ')
        .trimEnd(),
    )
    .join('\n')}\n`
  const file = new URL('./golden/routing-order.txt', import.meta.url)
  if (process.env.UPDATE_GOLDEN === '1') await writeFile(file, table)
  assert.equal(table, await readFile(file, 'utf8'))
})

test('a configured gateway is never bypassed, whatever else is there', () => {
  const ways: [string, RouteSources['gateway'], Record<string, string>][] = [
    ['the flag or the setting', { url: 'https://g.example' }, {}],
    ['a key by flag', { key: 'bai_v1.x' }, {}],
    ['AI_GATEWAY_URL', {}, { AI_GATEWAY_URL: 'https://g.example' }],
    ['AI_AGENT_KEY', {}, { AI_AGENT_KEY: 'bai_v1.x' }],
  ]
  for (const [name, gateway, more] of ways)
    for (const row of PROVIDERS)
      for (const of of combinations()) {
        if (of.gateway !== '.') continue
        const sources = sourcesOf(row, of)
        const way = wayOf(idOf(row), { ...sources, gateway: gateway ?? {}, env: { ...sources.env, ...more } })
        assert.equal(way.source, 'gateway', `${name}: ${row.id}`)
        const told = { ...sources.env, ...more, AI_DIRECT: '1' }
        assert.notEqual(wayOf(idOf(row), { ...sources, gateway: gateway ?? {}, env: told }).source, 'gateway')
      }
})

test('a virtual key alone leads to the gateway of the sandbox', () => {
  const way = wayOf('claude-x', { env: { AI_AGENT_KEY: 'bai_v1.x' }, logins: [], moved: new Set() })
  assert.deepEqual(way, { source: 'gateway', id: 'claude-x', url: 'http://ai.internal', key: 'bai_v1.x' })
})

test('no_route names the one variable that helps, and it does help', () => {
  for (const row of PROVIDERS)
    for (const of of combinations()) {
      const sources = sourcesOf(row, of)
      const way = wayOf(idOf(row), sources)
      if (way.source !== 'none' || 'login' in way.help) continue
      const [name = '', value = way.help.variable === 'AI_BASE_URL' ? 'http://gpu.example' : 'k'] =
        way.help.variable.split('=')
      const mended = wayOf(idOf(row), { ...sources, env: { ...sources.env, [name]: value } })
      assert.notEqual(mended.source, 'none', `${row.id}: ${way.help.variable}`)
    }
})

test('Bedrock: a bearer comes before signing, and a region is asked for by name', () => {
  const way = (env: Record<string, string>) => wayOf('us.amazon.nova', { env, logins: [], moved: new Set() })
  const signing = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's', AWS_REGION: 'eu-west-1' }
  const told = (one: Way) =>
    one.source === 'variable'
      ? one.variable
      : one.source === 'none' && 'variable' in one.help
        ? one.help.variable
        : ''
  assert.equal(told(way({ ...signing, AWS_BEARER_TOKEN_BEDROCK: 'b' })), 'AWS_BEARER_TOKEN_BEDROCK')
  assert.equal(told(way(signing)), 'AWS_ACCESS_KEY_ID')
  assert.equal(told(way({ ...signing, AWS_REGION: '' })), 'AWS_REGION')
  assert.equal(told(way({ AWS_REGION: 'eu-west-1' })), 'AWS_BEARER_TOKEN_BEDROCK')
})

test('names that an endpoint of ours gave lead on when the endpoint is gone', () => {
  const way = wayOf('gateway/claude-x', { env: { ANTHROPIC_API_KEY: 'k' }, logins: [], moved: new Set() })
  assert.deepEqual([way.source, way.id], ['variable', 'claude-x'])
})

test('of two logins that serve a model its own vendor comes first', () => {
  const logins = ['github-copilot', 'anthropic'].map(provider => ({ provider, serves: () => true }))
  const way = wayOf('claude-x', { env: {}, logins, moved: new Set() })
  assert.equal(way.source === 'login' && way.row.id, 'anthropic')
  const other = wayOf('gpt-9', { env: { OPENAI_API_KEY: 'k' }, logins, moved: new Set() })
  assert.equal(other.source === 'login' && other.row.id, 'github-copilot')
})
