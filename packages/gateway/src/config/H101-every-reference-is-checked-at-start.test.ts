import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadText } from './load.ts'
import { surroundings } from './surroundings.fixture.ts'

test('providers, models, plugins, tools, files', async () => {
  const text = `{
  llm: { providers: { anthropic: { apiKey: 'k-123' } } },
  plugins: { gone: { path: './gone' } },
  agents: {
    one: { model: { provider: 'openai', model: 'gpt-5' }, tools: ['git'] },
    two: { model: { provider: 'anthropic', model: 'claude-9' }, tools: [], instructionsFile: 'no.txt' },
    three: { model: { provider: 'anthropic', model: 'claude-opus-4-8' }, tools: [], pluginConfigs: { kv: {} } },
  },
}`
  const loaded = await loadText(text, '/etc/b/config.json5', surroundings())
  assert.ok(!loaded.ok)
  assert.deepEqual(
    loaded.lines.map(line => line.replace(/^\S+ +/, '').replace(/ {2,}/, '  ')),
    [
      'plugins.gone.path  /etc/b/gone/plugin.json is not there',
      'agents.one.model.provider  no provider "openai" is configured',
      'agents.one.tools[0]  no plugin offers "git"',
      'agents.two.model.model  anthropic has no model "claude-9"',
      'agents.two.instructionsFile  /etc/b/no.txt is not there',
      'agents.three.pluginConfigs.kv  no plugin "kv" is configured',
    ],
  )
})

test('fallback models, allow-lists, budgets and limits of providers', async () => {
  const text = `{
  llm: {
    providers: { anthropic: { apiKey: 'k-123', concurrency: 0 }, openai: { apiKey: 'k-456' } },
    budget: { tokensPerDay: 0 },
  },
  agents: {
    one: {
      model: { provider: 'anthropic', model: 'claude-opus-4-8' },
      fallbackModels: [
        { provider: 'antropic', model: 'x' },
        { provider: 'openai', model: 'gpt-6' },
        { provider: 'openai', model: 'gpt-5' },
        { provider: 'openai', model: 'gpt-5' },
      ],
      allowModels: [{ provider: 'openai', model: 'gpt-5' }],
      budget: { usdPerDay: 5, turnsPerPrompt: 0 },
      tools: [],
    },
  },
}`
  const loaded = await loadText(text, '/etc/b/config.json5', surroundings())
  assert.ok(!loaded.ok)
  assert.deepEqual(
    loaded.lines.map(line => line.replace(/^\S+ +/, '').replace(/ {2,}/, '  ')),
    [
      'llm.providers.anthropic.concurrency  0 would wait for ever: -1 is no limit, or give 1 or more',
      'llm.budget.tokensPerDay  expected >= 1',
      'agents.one.model  anthropic/claude-opus-4-8 is not in allowModels',
      'agents.one.fallbackModels[0]  antropic/x is not in allowModels',
      'agents.one.fallbackModels[0].provider  no provider "antropic" is configured (did you mean "anthropic"?)',
      'agents.one.fallbackModels[1]  openai/gpt-6 is not in allowModels',
      'agents.one.fallbackModels[1].model  openai has no model "gpt-6" (did you mean "gpt-5"?)',
      'agents.one.fallbackModels[2].model  a budget in money covers openai/gpt-5, whose price is not known: give the model a cost, or limit tokens',
      'agents.one.fallbackModels[3]  openai/gpt-5 is listed twice',
      'agents.one.fallbackModels[3].model  a budget in money covers openai/gpt-5, whose price is not known: give the model a cost, or limit tokens',
      'agents.one.allowModels[0].model  a budget in money covers openai/gpt-5, whose price is not known: give the model a cost, or limit tokens',
      'agents.one.budget.turnsPerPrompt  expected >= 1',
    ],
  )
})

test('what is left out is spelled out in what comes of it', async () => {
  const text = `{
  llm: { providers: { anthropic: { apiKey: 'k-123' }, openai: { apiKey: 'k-456' } }, budget: { tokensPerDay: 9 } },
  agents: { one: {
    model: { provider: 'anthropic', model: 'claude-opus-4-8' },
    fallbackModels: [{ provider: 'openai', model: 'gpt-5', thinkingLevel: 'low' }],
    tools: [],
  } },
}`
  const loaded = await loadText(text, '/etc/b/config.json5', surroundings())
  assert.ok(loaded.ok)
  const [agent] = loaded.config.agents
  assert.deepEqual(agent?.allowModels, [agent?.model, ...(agent?.fallbackModels ?? [])])
  assert.deepEqual([agent?.budget, agent?.turnsPerPrompt], [null, 200])
  assert.deepEqual(loaded.config.llm, { fallback: {}, budget: { tokensPerDay: 9 } })
})
