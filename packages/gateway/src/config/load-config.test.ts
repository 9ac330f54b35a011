import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { PluginManifest } from '@beige/plugin-sdk'
import { loadConfig, loadText } from './load.ts'
import { countText } from './problem.ts'
import type { Surroundings } from './surroundings.ts'

const MANIFEST: PluginManifest = {
  name: 'kv',
  version: '1.0.0',
  description: 'Keeps values',
  entry: 'index.ts',
  provides: { tools: true },
  tools: [
    { name: 'kv', description: 'Keeps values' },
    { name: 'kv.get', description: 'Reads one' },
  ],
  configSchema: { type: 'object', properties: { maxKeys: { type: 'integer' } }, additionalProperties: false },
  engines: { beige: '1' },
}

function surroundings(env: Record<string, string> = {}): Surroundings {
  return {
    env,
    userHome: '/users/u',
    beigeHome: '/users/u/.beige',
    canonical: path => path,
    readManifest: folder =>
      folder.endsWith('/kv')
        ? { ok: true, value: MANIFEST }
        : { ok: false, reason: `${folder}/plugin.json is not there` },
    readSecretFile: path => ({ ok: true, value: `secret of ${path}` }),
    runSecretCommand: async argv => ({ ok: true, value: `secret of ${argv.join(' ')}` }),
    fileExists: path => path.endsWith('.md'),
    isKnownProvider: name => ['anthropic', 'openai'].includes(name),
    modelIds: async name => (name === 'anthropic' ? ['claude-sonnet-4-6', 'claude-opus-4-8'] : ['gpt-5']),
  }
}

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

test('forty mistakes are all reported with their position, in one run', async () => {
  const text = `{
  version: '1',
  llm: {
    providers: {
      Bad_Name: { auth: 'none', baseUrl: 'http://127.0.0.1:1', api: 'openai-completions', models: [] },
      core: { auth: 'none', baseUrl: 'ftp://x', api: 'openai-completions', models: [] },
      anthropic: { apiKey: '\${EMPTY}', heders: {} },
      openai: { apiKey: 'x', auth: 'none', baseUrl: 'http://example.com' },
      other: { apiKey: 5 },
      sixth: { apiKey: { fil: 'x' }, api: 'openai-chat', baseUrl: 'https://u:p@h/' },
    },
    fallback: {},
  },
  plugins: {
    kv: { path: './kv', config: { maxKeis: 1 } },
    gone: { path: './gone' },
    off: { path: './off', enabled: false },
    tilde: { path: '~root/x' },
  },
  agents: {
    'a/../b': {
      model: { provider: 'antropic', model: 'x' },
      tools: [],
    },
    scout: {
      model: { provider: 'anthropic', model: 'claude-sonnet-4-7' },
      tools: ['gti', 'kv', 'kv', 'exec', 'kv@sandbox', 'off', 'gone', 'a b'],
      toolz: [],
      pluginConfigs: { nope: {}, kv: { maxKeys: 'many' } },
      workspaceDir: '/users/u/.beige/x',
      instructionsFile: './missing.txt',
      sandbox: {
        driver: 'host', network: 'open', url: 'gopher://x', memoryLimit: '1k', cpus: 0, pids: 1.5,
        extraMounts: [{ host: '/', container: '/x' }, { host: '/opt', container: '/workspace/x' }, { host: '/srv' }],
        extraEnv: { 'A-B': '1', BEIGE_TOKEN: 'x', K: 'x' },
      },
    },
    second: { model: { provider: 'openai' }, tools: 'kv', workspaceDir: '/users/u/code' },
    third: { model: { provider: 'openai', model: 'gpt-5' }, tools: [], workspaceDir: '/users/u/code/in' },
    third: { model: { provider: 'openai', model: 'gpt-5' }, tools: [] },
  },
  gateway: { host: '0.0.0.0', prot: 1, port: 99999, origins: ['x'], log: { level: 'verbose' } },
  port: 7433,
}`
  const loaded = await loadText(text, 'config.json5', surroundings({ EMPTY: '' }))
  assert.ok(!loaded.ok)
  const expected = [
    /:2:12 +version +a newer version/,
    /:5:7 +llm.providers.Bad_Name +a name is/,
    /:6:7 +llm.providers.core +"core" is reserved/,
    /:6:38 +llm.providers.core.baseUrl +must be an http/,
    /:7:28 +llm.providers.anthropic.apiKey +\$\{EMPTY\} is empty/,
    /:7:40 +llm.providers.anthropic.heders +unknown key \(did you mean "headers"\?\)/,
    /:8:36 +llm.providers.openai.auth +"none" and an apiKey/,
    /:8:53 +llm.providers.openai.baseUrl +plain http/,
    /:9:24 +llm.providers.other.apiKey +expected string/,
    /:9:7 +llm.providers.other.api +missing/,
    /:9:7 +llm.providers.other.baseUrl +missing/,
    /:9:7 +llm.providers.other.models +missing/,
    /:10:26 +llm.providers.sixth.apiKey.fil +unknown key \(did you mean "file"\?\)/,
    /:10:43 +llm.providers.sixth.api +must be one of anthropic-messages/,
    /:10:67 +llm.providers.sixth.baseUrl +a URL has no user/,
    /:12:5 +llm.fallback +unknown key/,
    /:15:35 +plugins.kv.config.maxKeis +unknown key of kv \(did you mean "maxKeys"\?\)/,
    /:16:19 +plugins.gone.path .*gone\/plugin.json is not there/,
    /:18:20 +plugins.tilde.path +only ~\//,
    /:21:5 +agents\["a\/..\/b"\] +a name is/,
    /:22:26 +agents\["a\/..\/b"\].model.provider +no provider "antropic" is configured \(did you mean "anthropic"\?\)/,
    /:26:46 +agents.scout.model.model +anthropic has no model "claude-sonnet-4-7" \(did you mean "claude-sonnet-4-6"\?\)/,
    /:27:15 +agents.scout.tools\[0\] +no plugin offers "gti"/,
    /agents.scout.tools\[2\] +"kv" is listed twice/,
    /agents.scout.tools\[3\] +"exec" is no plugin's tool/,
    /agents.scout.tools\[4\] +("kv" is listed twice|kv does not offer)/,
    /agents.scout.tools\[5\] +plugin "off" is not enabled/,
    /agents.scout.tools\[7\] +"a b" is no tool name/,
    /:28:7 +agents.scout.toolz +unknown key \(did you mean "tools"\?\)/,
    /:29:24 +agents.scout.pluginConfigs.nope +no plugin "nope"/,
    /:29:40 +agents.scout.pluginConfigs.kv.maxKeys +expected integer, got string/,
    /:30:21 +agents.scout.workspaceDir .* may not hold one another/,
    /:31:25 +agents.scout.instructionsFile .* is not there/,
    /agents.scout.sandbox.driver +"host" isolates nothing/,
    /agents.scout.sandbox.network +"open" needs unsafe/,
    /agents.scout.sandbox.url +only driver "remote"/,
    /agents.scout.sandbox.memoryLimit +must be at least 64m/,
    /agents.scout.sandbox.cpus +expected > 0/,
    /agents.scout.sandbox.pids/,
    /agents.scout.sandbox.extraMounts\[0\].host +the whole host/,
    /agents.scout.sandbox.extraMounts\[1\].container +\/workspace\/x is taken/,
    /agents.scout.sandbox.extraMounts\[2\].container +missing/,
    /agents.scout.sandbox.extraEnv.A-B +is no name of a variable/,
    /agents.scout.sandbox.extraEnv.BEIGE_TOKEN +BEIGE_ and EXECD_ are ours/,
    /agents.scout.sandbox.extraEnv.K +is the secret openai.apiKey/,
    /agents.second.model.model +missing/,
    /agents.second.tools +expected array/,
    /agents.third.workspaceDir +shares or nests with the workspace of "second"/,
    /:40:5 +agents.third +given twice, first in line 39/,
    /gateway.host +0.0.0.0 is not this machine alone/,
    /gateway.prot +unknown key \(did you mean "port"\?\)/,
    /gateway.port +expected <= 65535/,
    /gateway.origins\[0\] +must be an origin/,
    /gateway.log.level +must be one of debug, info, warn, error/,
    /:43:3 +port +unknown key \(did you mean "gateway.port"\?\)/,
  ]
  for (const pattern of expected)
    assert.ok(
      loaded.lines.some(line => pattern.test(line)),
      `no line for ${pattern}\n${loaded.lines.join('\n')}`,
    )
  assert.ok(expected.length >= 40)
  assert.equal(loaded.lines.filter(line => /missing; where none/.test(line)).length, 0)
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

test('H104-secret-files-are-private: a configuration that others may read is refused, with its other mistakes', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'beige-config-')), 'config.json5')
  writeFileSync(file, '{ nonsense: 1 }', { mode: 0o644 })
  const loaded = await loadConfig(file, surroundings())
  assert.ok(!loaded.ok)
  assert.match(loaded.lines.join('\n'), /has mode 0644, others may read it/)
  assert.match(loaded.lines.join('\n'), /nonsense +unknown key/)
})
