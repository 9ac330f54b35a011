import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadText } from './load.ts'
import { surroundings } from './surroundings.fixture.ts'

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
    fallback: { passes: 0, hardCooldown: 5 },
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
    /:12:25 +llm.fallback.passes +expected >= 1/,
    /:12:28 +llm.fallback.hardCooldown +unknown key/,
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
