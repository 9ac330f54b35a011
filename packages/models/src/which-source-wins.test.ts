/** Which source of a route wins, and what is said when there is none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, systemClock } from '@beige/protocol'
import { createModelRouter, type ProviderConfig } from './index.ts'

type Sources = { env?: Record<string, string>; providers?: Record<string, ProviderConfig> }

async function where(name: string, { env = {}, providers = {} }: Sources): Promise<string> {
  const router = await createModelRouter({ env, providers, clock: systemClock })
  try {
    const model = router.resolve(name)
    return `${model.provider} ${model.id} ${model.api} ${model.baseUrl}`
  } catch (error) {
    return isError(error) ? `${error.code}: ${error.message} ${error.advice}` : String(error)
  }
}

const KEY = 'key-of-the-test'
const LOCAL = { baseUrl: 'http://127.0.0.1:11434/v1', api: 'openai-completions' } as const
const MODEL = { contextWindow: 32_000, maxTokens: 4000 }
const local = { local: { ...LOCAL, models: [{ id: 'Qwen-3', ...MODEL }] } }
const anthropic = { ANTHROPIC_API_KEY: KEY }

const CASES: [string, string, Sources, string][] = [
  [
    'a prefix finds its provider',
    'claude-opus-4-8',
    { env: anthropic },
    'anthropic claude-opus-4-8 anthropic-messages https://api.anthropic.com',
  ],
  [
    'any case',
    'CLAUDE-Opus-4-8',
    { env: anthropic },
    'anthropic claude-opus-4-8 anthropic-messages https://api.anthropic.com',
  ],
  [
    'provider/id',
    'anthropic/claude-opus-4-8',
    { env: { ...anthropic, OPENAI_API_KEY: KEY } },
    'anthropic claude-opus-4-8 anthropic-messages https://api.anthropic.com',
  ],
  [
    'the catalogue gives an id another wire',
    'gpt-5',
    { env: { OPENAI_API_KEY: KEY } },
    'openai gpt-5 openai-responses https://api.openai.com/v1',
  ],
  [
    'OPENAI_BASE_URL moves the openai row',
    'gpt-5',
    { env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'http://proxy.example/v1/' } },
    'openai gpt-5 openai-responses http://proxy.example/v1',
  ],
  [
    'AI_BASE_URL takes any id, and speaks OpenAI',
    'meta-llama/Llama-3',
    { env: { ...anthropic, AI_BASE_URL: 'http://gpu.example:8000/v1' } },
    'custom meta-llama/Llama-3 openai-completions http://gpu.example:8000/v1',
  ],
  [
    'AI_BASE_URL wins over a key of the prefix',
    'claude-opus-4-8',
    { env: { ...anthropic, AI_BASE_URL: 'http://gpu.example:8000/v1' } },
    'custom claude-opus-4-8 openai-completions http://gpu.example:8000/v1',
  ],
  [
    "AI_BASE_URL on a host of the table brings that row's wire",
    'claude-next',
    { env: { AI_BASE_URL: 'https://api.anthropic.com/v1', AI_API_KEY: KEY } },
    'anthropic claude-next anthropic-messages https://api.anthropic.com',
  ],
  [
    'AI_PROVIDER names the row where the host does not',
    'claude-next',
    { env: { AI_BASE_URL: 'http://127.0.0.1:9/v1', AI_PROVIDER: 'anthropic' } },
    'anthropic claude-next anthropic-messages http://127.0.0.1:9',
  ],
  [
    "AI_PROVIDER serves other vendors' ids",
    'anthropic/claude-sonnet-4.5',
    { env: { ...anthropic, AI_PROVIDER: 'openrouter', OPENROUTER_API_KEY: KEY } },
    'openrouter anthropic/claude-sonnet-4.5 anthropic-messages https://openrouter.ai/api',
  ],
  [
    'AI_PROVIDER with AI_API_KEY',
    'groq/llama-3.3-70b-versatile',
    { env: { AI_PROVIDER: 'groq', AI_API_KEY: KEY } },
    'groq llama-3.3-70b-versatile openai-completions https://api.groq.com/openai/v1',
  ],
  [
    'a configured provider, exact id in any case',
    'qwen-3',
    { providers: local },
    'local Qwen-3 openai-completions http://127.0.0.1:11434/v1',
  ],
  [
    'a configured provider wins over the environment',
    'local/Qwen-3',
    { providers: local, env: { AI_BASE_URL: 'http://gpu.example:8000/v1' } },
    'local Qwen-3 openai-completions http://127.0.0.1:11434/v1',
  ],
  [
    'a configured provider of the table keeps its catalogue at another URL',
    'claude-opus-4-8',
    { providers: { anthropic: { apiKey: KEY, baseUrl: 'https://proxy.example/' } } },
    'anthropic claude-opus-4-8 anthropic-messages https://proxy.example',
  ],
  [
    'one id at two configured providers',
    'qwen-3',
    { providers: { ...local, other: local.local } },
    'ambiguous_model: "qwen-3" is offered by several providers: local/Qwen-3, other/Qwen-3. Put the provider before the id: provider/id',
  ],
  ['no key', 'claude-opus-4-8', {}, 'no_route: No way to reach claude-opus-4-8. Set ANTHROPIC_API_KEY'],
  [
    'no key for the named provider',
    'groq/whatever',
    { env: anthropic },
    'no_route: No way to reach groq/whatever. Set GROQ_API_KEY',
  ],
  [
    'no key for AI_PROVIDER',
    'claude-opus-4-8',
    { env: { AI_PROVIDER: 'openrouter' } },
    'no_route: No way to reach claude-opus-4-8. Set OPENROUTER_API_KEY',
  ],
  [
    'an empty key is none',
    'gpt-5',
    { env: { OPENAI_API_KEY: ' ' } },
    'no_route: No way to reach gpt-5. Set OPENAI_API_KEY',
  ],
  ['an id of nobody', 'foobarbaz-9', {}, 'no_route: No way to reach foobarbaz-9. Set AI_BASE_URL'],
  [
    'an id of nobody, with an aggregator at hand',
    'foobarbaz-9',
    { env: { GROQ_API_KEY: KEY } },
    'no_route: No way to reach foobarbaz-9. Set AI_PROVIDER=groq',
  ],
  [
    'a login row',
    'openai-codex/gpt-5',
    {},
    'needs_login: openai-codex: nobody has logged in, which openai-codex/gpt-5 needs. Run: agent login openai-codex',
  ],
]

for (const [name, model, sources, expected] of CASES)
  test(name, async () => {
    assert.equal(await where(model, sources), expected)
  })

test('a mistyped id names the near ones', async () => {
  const said = await where('claude-opus-4-9', { env: anthropic })
  assert.match(
    said,
    /^unknown_model: Anthropic has no model "claude-opus-4-9" \(did you mean "claude-opus-4-/,
  )
  assert.match(await where('cluade-opus-4-8', { env: anthropic }), /did you mean "claude-opus-4-8"/)
})

test('an unknown model has sane limits', async () => {
  const router = await createModelRouter({
    env: { AI_BASE_URL: 'http://127.0.0.1:9/v1' },
    clock: systemClock,
  })
  const model = router.resolve('anything')
  assert.deepEqual(
    [model.contextWindow, model.maxTokens, model.input, model.reasoning],
    [128_000, 16_384, ['text'], false],
  )
})

const BAD: [string, Record<string, ProviderConfig>, RegExp][] = [
  ['an unknown name alone', { mine: { apiKey: KEY } }, /needs baseUrl and api/],
  ['no wire', { mine: { baseUrl: 'https://a.example' } }, /needs api, one of anthropic-messages/],
  ['no URL', { openai: { baseUrl: 'localhost:80' } }, /not an http or https URL/],
  ['plain http', { openai: { baseUrl: 'http://a.example/v1' } }, /in the clear/],
  ['a password in the URL', { openai: { baseUrl: 'https://a:b@a.example' } }, /may not hold a password/],
  ['a name with a slash', { 'a/b': LOCAL }, /lower-case letters/],
  [
    'a window of 0',
    { mine: { ...LOCAL, models: [{ id: 'a', contextWindow: 0, maxTokens: 1 }] } },
    /contextWindow/,
  ],
  [
    'a model twice',
    {
      mine: {
        ...LOCAL,
        models: [
          { id: 'a', ...MODEL },
          { id: 'A', ...MODEL },
        ],
      },
    },
    /listed twice/,
  ],
  ['an idle time of 0', { mine: { ...LOCAL, timeouts: { idleMs: 0 } } }, /timeouts.idleMs/],
  ['a login row without a URL', { 'github-copilot': { apiKey: KEY } }, /needs a baseUrl/],
]
for (const [name, providers, expected] of BAD)
  test(`bad provider: ${name}`, async () => {
    await assert.rejects(createModelRouter({ providers, env: {}, clock: systemClock }), expected)
  })

test('AI_PROVIDER with a typing mistake', async () => {
  const made = createModelRouter({ env: { AI_PROVIDER: 'antropic' }, clock: systemClock })
  await assert.rejects(made, /AI_PROVIDER names no known provider \(did you mean "anthropic"\?\)/)
})
