import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BeigeError } from '@beige/protocol'
import { agentOptions, type RawOptions } from './options.ts'

const CWD = '/w'
const options = (raw: RawOptions, env: Record<string, string> = {}) =>
  agentOptions(raw, { cwd: CWD, env: { HOME: '/h', ...env } })

test('flag before variable before default', () => {
  for (const [name, flag, variable, fallback] of [
    ['model', { model: 'f' }, { AI_AGENT_MODEL: 'v' }, 'claude-opus-4-8'],
    ['sandboxImage', { sandboxImage: 'f' }, { AI_AGENT_SANDBOX_IMAGE: 'v' }, 'beige-sandbox:latest'],
    ['systemPrompt', { systemPrompt: 'f' }, { AI_AGENT_SYSTEM_PROMPT: 'v' }, null],
  ] as const) {
    assert.equal(options(flag, variable)[name], 'f')
    assert.equal(options({}, variable)[name], 'v')
    assert.equal(options({})[name], fallback)
  }
  assert.equal(options({}, { AI_AGENT_MODEL: 'v' }).modelFlag, null, 'a variable is no flag')
  assert.equal(options({ model: 'f' }).modelFlag, 'f')
})

test('an empty variable is one that is not set', () => {
  const env = {
    AI_AGENT_MODEL: '',
    AI_AGENT_SANDBOX: '',
    AI_AGENT_SANDBOX_IMAGE: '',
    AI_AGENT_SESSION_DIR: '',
    BEIGE_HOME: '',
  }
  assert.deepEqual(options({}, env), options({}))
})

test('where the state lies', () => {
  assert.equal(options({}).stateDir, '/h/.beige')
  assert.equal(options({}, { BEIGE_HOME: '/b' }).stateDir, '/b')
  assert.equal(options({}, { BEIGE_HOME: '/b', AI_AGENT_CONFIG_DIR: 'c' }).stateDir, '/w/c')
  assert.equal(options({}).sessionDir, '/h/.beige/sessions')
  assert.equal(options({}, { AI_AGENT_SESSION_DIR: '/s' }).sessionDir, '/s')
  assert.equal(options({ sessionDir: 'x' }, { AI_AGENT_SESSION_DIR: '/s' }).sessionDir, '/w/x')
})

test('a sandbox is a name or a URL with its headers', () => {
  for (const kind of ['auto', 'docker', 'bubblewrap', 'host'] as const)
    assert.deepEqual(options({ sandbox: kind }).sandbox, { kind })
  assert.deepEqual(options({}).sandbox, { kind: 'auto' })
  const env = {
    AI_AGENT_SANDBOX: 'https://box.example/x',
    AI_AGENT_EXEC_HEADER: 'Authorization: Bearer a:b\n\nX-Y:1',
  }
  assert.deepEqual(options({}, env).sandbox, {
    kind: 'remote',
    url: 'https://box.example/x',
    headers: { Authorization: 'Bearer a:b', 'X-Y': '1' },
  })
})

test('an exec endpoint has a flag of its own, and may be a socket', () => {
  const unix = { kind: 'remote', url: 'unix:/run/x.sock', headers: {} } as const
  assert.deepEqual(options({ sandbox: 'unix:/run/x.sock' }).sandbox, unix)
  assert.deepEqual(options({ execUrl: 'unix:/run/x.sock' }, { AI_AGENT_SANDBOX: 'docker' }).sandbox, unix)
  assert.deepEqual(options({}, { AI_AGENT_EXEC_URL: 'unix:/run/x.sock' }).sandbox, unix)
  assert.deepEqual(options({ sandbox: 'docker' }, { AI_AGENT_EXEC_URL: 'unix:/run/x.sock' }).sandbox, {
    kind: 'docker',
  })
  const env = { AI_AGENT_EXEC_HEADER: 'X-Y: 1' }
  assert.deepEqual(options({ execUrl: 'http://x', execHeader: ['Authorization: Bearer t'] }, env).sandbox, {
    ...{ kind: 'remote', url: 'http://x' },
    headers: { Authorization: 'Bearer t' },
  })
  for (const raw of [
    { sandbox: 'docker', execUrl: 'http://x' },
    { execUrl: 'docker' },
    { execHeader: ['x'] },
  ])
    assert.throws(() => options({ execUrl: 'http://x', ...raw }), { code: 'bad_value' })
  assert.throws(() => options({ sandbox: 'docker', execHeader: ['A: b'] }), { code: 'bad_value' })
})

test('a bad value names its flag and says what is expected', () => {
  const key = 'k'.repeat(121)
  for (const [raw, env, name] of [
    [{ sandbox: 'podman' }, {}, '--sandbox'],
    [{ sandbox: 'http://' }, {}, '--sandbox'],
    [{ sandbox: 'http://x' }, { AI_AGENT_EXEC_HEADER: 'no colon' }, 'AI_AGENT_EXEC_HEADER'],
    [{ sessionId: '.x' }, {}, '--session-id'],
    [{ sessionId: '' }, {}, '--session-id'],
    [{ maxSteps: '0' }, {}, '--max-steps'],
    [{ bashSilentMs: '2147483648' }, {}, '--bash-silent-ms'],
    [{ jobLifetimeMs: '0' }, {}, '--job-lifetime-ms'],
    [{ maxSteps: '1.5' }, {}, '--max-steps'],
    [{ maxSteps: 'many' }, {}, '--max-steps'],
    [{ maxSteps: '' }, {}, '--max-steps'],
    [{ idempotencyKey: key, sessionId: 's' }, {}, '--idempotency-key'],
    [{ idempotencyKey: 'k' }, {}, '--idempotency-key'],
  ] as const)
    assert.throws(
      () => options(raw, env),
      error => error instanceof BeigeError && error.message.startsWith(name) && error.advice !== '',
      JSON.stringify(raw),
    )
})

test('fallback models and the numbers of retries', () => {
  assert.deepEqual(options({}).fallbackModels, [])
  assert.deepEqual(options({ fallbackModels: 'a, b/c,,' }).fallbackModels, ['a', 'b/c'])
  assert.deepEqual(options({}, { AI_AGENT_FALLBACK_MODELS: 'x' }).fallbackModels, ['x'])
  assert.deepEqual(options({}).retry, { maxRetries: 3, baseDelayMs: 250, maxBackoffMs: 60_000 })
  const env = { AI_AGENT_RETRY_MAX_RETRIES: '7', AI_AGENT_RETRY_BASE_DELAY_MS: '1' }
  const retry = { maxRetries: 0, baseDelayMs: 1, maxBackoffMs: 60_000 }
  assert.deepEqual(options({ retryMaxRetries: '0' }, env).retry, retry)
  for (const bad of ['', '-1', '1.5', 'x'])
    assert.throws(() => options({ retryMaxBackoffMs: bad }), /--retry-max-backoff-ms/)
})

test('who is told of ended jobs, and what they begin', () => {
  assert.deepEqual([options({}).onJobEnd, options({}).notifyOrigin], ['note', null])
  assert.equal(options({ onJobEnd: 'wake' }).onJobEnd, 'wake')
  assert.equal(options({}, { AI_AGENT_NOTIFY_ORIGIN: 'http://a.test:8/' }).notifyOrigin, 'http://a.test:8')
  for (const notifyOrigin of [
    'https://a.test',
    'http://a.test/path',
    'http://u@a.test',
    'a.test',
    'http://a?x',
  ]) {
    assert.throws(() => options({ notifyOrigin }), { code: 'bad_value' }, notifyOrigin)
  }
  assert.throws(() => options({ onJobEnd: 'later' }), { code: 'bad_value' })
})
