/** The real command and its models: gateway, models.json, fuzzy names, effort, budget, and where keys are not. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startModelServer, taskScript } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'

const SECRET = 'sk-a-secret-of-the-operator-0123456789'
/** Every variable that may hold a key. */
const KEYS = {
  ANTHROPIC_API_KEY: SECRET,
  OPENAI_API_KEY: SECRET,
  GEMINI_API_KEY: SECRET,
  HF_TOKEN: SECRET,
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_SESSION_TOKEN: SECRET,
  AWS_BEARER_TOKEN_BEDROCK: SECRET,
}
const NOBODY = { AI_BASE_URL: '', AI_PROVIDER: '', AI_API_KEY: '' }

function everyFile(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => statSync(path).isFile())
}

test('no key reaches a tool, the session, a file of the state directory or the terminal', async () => {
  const look = { name: 'bash', input: { command: 'env; cat /proc/$PPID/environ | tr "\\0" "\\n"; true' } }
  await using bench = await agentBench(taskScript([{ calls: [look] }, { text: 'looked' }]))
  const env = { ...KEYS, AI_API_KEY: SECRET, AI_AGENT_KEY: SECRET, AI_DIRECT: '1' }
  for (const sandbox of ['host', 'auto']) {
    const { code, stdout, stderr } = await bench.agent(['run', '--json', '--sandbox', sandbox, 'look'], env)
    assert.equal(code, 0, stderr)
    assert.ok(!(stdout + stderr).includes(SECRET), sandbox)
  }
  assert.ok(everyFile(bench.home).length > 0)
  for (const path of everyFile(bench.home)) assert.ok(!readFileSync(path).includes(SECRET), path)
  assert.ok(!JSON.stringify(bench.seen.map(request => request.body)).includes(SECRET))
})

test('a configured gateway gets every request, and AI_DIRECT overrides it', async () => {
  await using bench = await agentBench(() => ({ text: 'by the provider' }))
  await using gateway = await startModelServer({
    script: () => ({ text: 'by the gateway' }),
    apiKey: 'bai_v1.k',
  })
  const env = { AI_GATEWAY_URL: gateway.url, AI_AGENT_KEY: 'bai_v1.k', ...KEYS }
  const through = await bench.agent(['run', 'hi'], env)
  assert.deepEqual([through.code, through.stdout], [0, 'by the gateway\n'], through.stderr)
  const flags = ['run', '--gateway-url', gateway.url, '--key', 'bai_v1.k', '--model', 'gpt-5', 'hi']
  assert.equal((await bench.agent(flags, KEYS)).stdout, 'by the gateway\n')
  assert.equal(bench.server.requests.length, 0)
  assert.ok(!JSON.stringify(gateway.requests).includes(SECRET))
  assert.equal((await bench.agent(['run', 'hi'], { ...env, AI_DIRECT: '1' })).stdout, 'by the provider\n')
})

test('the setting makes the gateway configured too', async () => {
  await using bench = await agentBench([])
  await using gateway = await startModelServer({ script: () => ({ text: 'by the gateway' }) })
  assert.equal((await bench.agent(['settings', '--gateway-url', gateway.url])).code, 0)
  const { stdout, stderr } = await bench.agent(['run', 'hi'])
  assert.equal(stdout, 'by the gateway\n', stderr)
})

test('no way to a model: exit 2 with the one variable, and nothing is made', async () => {
  await using bench = await agentBench([])
  for (const [model, variable] of [
    ['claude-opus-4-8', 'ANTHROPIC_API_KEY'],
    ['us.anthropic.claude-sonnet-4-6', 'AWS_BEARER_TOKEN_BEDROCK'],
    ['llama-9', 'AI_BASE_URL'],
    ['openai-codex/gpt-6', 'agent login openai-codex'],
  ] as const) {
    const { code, stderr } = await bench.agent(['run', '--model', model, 'hi'], NOBODY)
    assert.equal(code, 2)
    assert.ok(stderr.includes(variable), stderr)
  }
})

test('models.json leads an id to its own place, with a key of a command', async () => {
  await using bench = await agentBench([])
  await using local = await startModelServer({ script: () => ({ text: 'local' }), apiKey: 'local-key' })
  const entry = { base_url: `${local.url}/v1`, api_key: '!printf local-key', context_window: 32_000 }
  await mkdir(bench.home, { recursive: true })
  writeFileSync(join(bench.home, 'models.json'), JSON.stringify({ 'qwen-local': entry }))
  const { code, stdout, stderr } = await bench.agent(['run', '--model', 'qwen-local', 'hi'], NOBODY)
  assert.deepEqual([code, stdout], [0, 'local\n'], stderr)
  writeFileSync(join(bench.home, 'models.json'), '{broken')
  const broken = await bench.agent(['run', '--model', 'qwen-local', 'hi'], NOBODY)
  assert.equal(broken.code, 2)
  assert.match(broken.stderr, /warning: .*models\.json: it is no JSON/)
})

test('a part of an id and a level behind it; several are named', async () => {
  await using bench = await agentBench(() => ({ text: 'ok' }), 'openai-responses')
  const { code, stderr } = await bench.agent(['run', '--model', 'o4-mi:low', 'hi'])
  assert.equal(code, 0, stderr)
  const body: { model?: string; reasoning?: { effort?: string } } = Object(bench.seen[0]?.body)
  assert.deepEqual([body.model, body.reasoning?.effort], ['o4-mini', 'low'])
  const several = await bench.agent(['run', '--model', 'gpt-6', 'hi'])
  assert.equal(several.code, 2)
  assert.match(several.stderr, /"gpt-6" is offered by several.*openai\/gpt-6-astra/)
})

test('a resumed session keeps its model and effort, unless a flag says otherwise', async () => {
  await using bench = await agentBench(() => ({ text: 'ok' }), 'openai-responses')
  const effortOf = (n: number) => {
    const body: { model?: string; reasoning?: { effort?: string } } = Object(bench.seen[n]?.body)
    return [body.model, body.reasoning?.effort]
  }
  const one = ['run', '--session-id', 'one']
  await bench.agent([...one, '--model', 'o4-mini', '--reasoning-effort', 'high', 'hi'])
  await bench.agent([...one, 'again'], { AI_AGENT_MODEL: 'gpt-5' })
  await bench.agent([...one, '--model', 'gpt-5', '--reasoning-effort', 'low', 'again'])
  assert.deepEqual(effortOf(0), ['o4-mini', 'high'])
  assert.equal(effortOf(1)[0], 'o4-mini')
  assert.deepEqual(effortOf(2), ['gpt-5', 'low'])
})

test('a budget ends the run before the request that would pass it: exit 1, and says what was spent', async () => {
  const usage = { inputTokens: 100_000, outputTokens: 2000 }
  const again = () => ({ calls: [{ name: 'nothing', input: {} }], usage })
  await using bench = await agentBench(again, 'openai-responses')
  const { code, stderr } = await bench.agent(['run', '--budget', '0.60', 'go'])
  assert.equal(code, 1)
  assert.match(stderr, /the budget of this run is spent: \$0\.\d+ of \$0\.6/)
  const ledger = readFileSync(join(bench.home, 'usage.jsonl'), 'utf8').trim().split('\n')
  const spent = ledger.map(line => JSON.parse(line).costNanoUsd).reduce((sum, one) => sum + one, 0)
  assert.ok(ledger.length >= 2 && spent <= 0.6e9, `${ledger.length} requests, ${spent}`)
  const next = await bench.agent(['run', '--budget', '0.60', '--max-steps', '1', 'go'])
  assert.match(next.stderr, /stopped after 1 turn/, 'the next run has its own')
  const unpriced = await bench.agent(['run', '--budget', '1', '--model', 'nobody-knows-9', 'go'], {
    OPENAI_BASE_URL: '',
    AI_BASE_URL: 'http://127.0.0.1:9/v1',
  })
  assert.deepEqual([unpriced.code, /price is not known/.test(unpriced.stderr)], [2, true], unpriced.stderr)
})

test('list-models: a table for people, JSON for programs, none is exit 1', async () => {
  await using bench = await agentBench([])
  const { stdout } = await bench.agent(['list-models', 'opus48'], { ...NOBODY, ANTHROPIC_API_KEY: 'k' })
  assert.match(stdout, /^id +provider +context +output +reasoning +vision\nclaude-opus-4-8 +anthropic +1M/)
  const json = await bench.agent(['list-models', '--all', '--json', 'bedrock sonnet'], NOBODY)
  assert.equal(JSON.parse(json.stdout).models[0].provider, 'bedrock')
  assert.equal((await bench.agent(['list-models'], NOBODY)).code, 1)
})
