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
