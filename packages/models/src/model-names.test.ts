/** How a model may be written, and how the list is searched. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, systemClock } from '@beige/protocol'
import { createModelRouter, fuzzyModels, namedModel } from './index.ts'

const router = await createModelRouter({
  env: { ANTHROPIC_API_KEY: 'k', GROQ_API_KEY: 'k' },
  clock: systemClock,
  takesUnknownIds: true,
  providers: {
    local: {
      baseUrl: 'http://127.0.0.1:9/v1',
      api: 'openai-completions',
      models: ['qwen3:8b', 'qwen3:high', 'coder-a', 'coder-b'].map(id => ({
        id,
        contextWindow: 1000,
        maxTokens: 10,
      })),
    },
  },
})

function named(name: string): string {
  try {
    const { model, level } = namedModel(router, name)
    return `${model.provider}/${model.id}${level === null ? '' : ` at ${level}`}`
  } catch (error) {
    return isError(error) ? `${error.code}: ${error.message}` : String(error)
  }
}

for (const [name, expected] of [
  ['claude-opus-4-8', 'anthropic/claude-opus-4-8'],
  ['CLAUDE-opus-4-8:high', 'anthropic/claude-opus-4-8 at high'],
  ['opus-4-8', 'anthropic/claude-opus-4-8'],
  ['opus-4-8:off', 'anthropic/claude-opus-4-8 at off'],
  ['qwen3:8b', 'local/qwen3:8b'],
  ['qwen3:8b:low', 'local/qwen3:8b at low'],
  ['qwen3:high', 'local/qwen3:high'],
  ['coder', 'ambiguous_model: "coder" is offered by several providers: local/coder-a, local/coder-b.'],
  ['claude-opus-99', 'anthropic/claude-opus-99'],
  ['claude-opus-99:xhigh', 'anthropic/claude-opus-99 at xhigh'],
  ['gpt-5', 'no_route: No way to reach gpt-5.'],
] as const)
  test(`${name} is ${expected.slice(0, 40)}`, () => {
    const said = named(name)

    assert.equal(said, expected)
  })

test('the list is searched by letters in order, runs and starts of words first', () => {
  const models = router.models()
  const first = (search: string) => fuzzyModels(models, search)[0]?.id
  assert.equal(first('opus48'), 'claude-opus-4-8')
  assert.match(first('5sonnet') ?? '', /sonnet-5/)
  assert.match(first('sonnet5') ?? '', /sonnet-5/)
  assert.match(first('anthropic haiku') ?? '', /haiku/)
  assert.equal(fuzzyModels(models, '').length, models.length)
  assert.deepEqual(fuzzyModels(models, 'zzzzqqq'), [])
  const scored = fuzzyModels(models, 'coder')
  assert.deepEqual(
    scored.slice(0, 2).map(model => model.id),
    ['coder-a', 'coder-b'],
  )
})

test('a search of any length and kind ends', () => {
  for (const search of ['x'.repeat(500), '((((', 'ПриветМир', '5'.repeat(200), ' \t '])
    assert.ok(Array.isArray(fuzzyModels(router.models(), search)))
})
