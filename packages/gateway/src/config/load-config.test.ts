import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig, loadText } from './load.ts'
import { countText } from './problem.ts'
import { surroundings } from './surroundings.fixture.ts'

const GOOD = `// comments stay
{
  llm: { providers: { anthropic: { apiKey: '\${KEY}' } } },
  plugins: { kv: { path: './tools/kv', config: { maxKeys: 10 } } },
  agents: {
    scout: {
      model: { provider: 'anthropic', model: 'claude-sonnet-4-6', thinkingLevel: 'low' },
      tools: ['kv', 'kv.get@gateway'],
      pluginConfigs: { kv: { maxKeys: 3 } },
      sandbox: { driver: 'docker', image: 'debian', memoryLimit: '512m', cpus: '\${CPUS:-1.5}' },
    },
  },
  gateway: { port: '\${PORT}' },
}
`

test('a good file gives a resolved configuration', async () => {
  const loaded = await loadText(GOOD, '/etc/b/config.json5', surroundings({ KEY: 'k-123', PORT: '0' }))
  assert.ok(loaded.ok, loaded.ok ? '' : loaded.lines.join('\n'))
  const { config } = loaded
  assert.equal(config.providers[0]?.apiKey, 'k-123')
  assert.equal(config.gateway.port, 0)
  assert.equal(config.plugins[0]?.folder, '/etc/b/tools/kv')
  const agent = config.agents[0]
  assert.deepEqual(agent?.tools, ['kv', 'kv.get'])
  assert.deepEqual(agent?.pluginConfigs, { kv: { maxKeys: 3 } })
  assert.equal(agent?.sandbox.limits.cpus, 1.5)
  assert.equal(agent?.sandbox.limits.memoryBytes, 512 * 1024 ** 2)
  assert.deepEqual(config.secrets, [{ name: 'anthropic.apiKey', value: 'k-123' }])
  assert.deepEqual([...config.secretVariables], ['KEY'])
})

test('what is no file, or not there, is said by its path', async () => {
  const folder = import.meta.dirname
  const inFolder = await loadConfig(folder, surroundings({}))
  assert.deepEqual(inFolder.ok ? [] : inFolder.lines, [`config:1:1    ${folder} is no regular file`])
  const gone = await loadConfig(`${folder}/gone.json5`, surroundings({}))
  assert.deepEqual(gone.ok ? [] : gone.lines, [`gone.json5:1:1    ${folder}/gone.json5 is not there`])
})

test('the transcript of the first minutes', async () => {
  const text = `{
  llm: { providers: { openai: { apiKey: '\${OPENAI_API_KEY}' } } },
  plugins: { kv: { path: './kv' } },
  agents: { scout: {
    model: { provider: 'openai', model: 'gpt-5' },
    tools: ['kv', 'kb'],
    sandbox: { netwrok: 'none' },
  } },
}`
  const loaded = await loadText(text, '/etc/b/config.json5', surroundings())
  assert.ok(!loaded.ok)
  assert.deepEqual(loaded.lines, [
    'config.json5:2:41  llm.providers.openai.apiKey   ${OPENAI_API_KEY} is not set',
    'config.json5:6:19  agents.scout.tools[1]         no plugin offers "kb" (did you mean "kv"?)',
    'config.json5:7:16  agents.scout.sandbox.netwrok  unknown key (did you mean "network"?)',
  ])
  assert.equal(countText(loaded.lines.length, 'nothing was started'), '3 errors, nothing was started.')
})

test('text that is no JSON5 is one error with its position', async () => {
  const loaded = await loadText('{\n  a: 1\n  b: 2 }', 'config.json5', surroundings())
  assert.ok(!loaded.ok)
  assert.deepEqual(loaded.lines.length, 1)
  assert.match(loaded.lines[0] ?? '', /^config\.json5:3:3 {4}not JSON5: Unexpected token/)
})

test('hostile documents are refused and change nothing', async () => {
  for (const text of [
    '['.repeat(100_000),
    `{a:${'['.repeat(100)}${']'.repeat(100)}}`,
    '{__proto__: {polluted: true}, llm: {providers: {}}, agents: {}}',
    '{constructor: {prototype: {polluted: true}}}',
    '[]',
    'null',
    '{llm: {providers: {__proto__: {apiKey: "x"}}}, agents: {__proto__: {}}}',
    '{llm: 1e999}',
  ]) {
    const loaded = await loadText(text, 'config.json5', surroundings())
    assert.ok(!loaded.ok, text.slice(0, 40))
    assert.ok(loaded.lines.length > 0)
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
})
