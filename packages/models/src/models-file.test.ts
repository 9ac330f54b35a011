/** `models.json`: what it changes, how its values are read, and that a mistake in it never stops anybody. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '@beige/protocol'
import { startModelServer } from '@beige/test-support'
import { ask, failed, KEY, ONCE, system, textOf, user } from '../test/wires.ts'
import { createModelRouter, openModelSources } from './index.ts'
import { parseModelsFile } from './models-file.ts'
import { nodeCommand } from './node-command.ts'

async function routed(file: object | string, env: Record<string, string>) {
  const directory = await mkdtemp(join(tmpdir(), 'beige-models-'))
  try {
    await writeFile(join(directory, 'models.json'), typeof file === 'string' ? file : JSON.stringify(file))
    const warnings: string[] = []
    const sources = await openModelSources({
      directory,
      env,
      clock: systemClock,
      warn: text => warnings.push(text.replaceAll(directory, 'HOME')),
    })
    const router = await createModelRouter({ env, clock: systemClock, fallback: ONCE, ...sources })
    return { router, warnings }
  } finally {
    await rm(directory, { recursive: true })
  }
}

test('an entry with a base_url is the way for its id alone', async () => {
  await using server = await startModelServer({ script: () => ({ text: 'from the file' }), apiKey: KEY })
  const entry = { base_url: `${server.url}/v1`, api_key: '$LOCAL_KEY', headers: { 'x-team': 'team ${TEAM}' } }
  const env = { LOCAL_KEY: KEY, TEAM: 'blue', ANTHROPIC_API_KEY: 'another' }
  const { router, warnings } = await routed({ 'Claude-Local': entry }, env)
  assert.deepEqual(warnings, [])
  const answer = await ask({ router, model: router.resolve('claude-local') }, [system, user('hi')])
  assert.equal(textOf(answer.message), 'from the file')
  const request = await server.request(1)
  assert.deepEqual([request.path, request.headers['x-team']], ['/v1/chat/completions', 'team blue'])
  assert.ok(!JSON.stringify(answer).includes(KEY))
  assert.equal(router.resolve('claude-opus-4-8').provider, 'anthropic')
})

test('wire, sizes and abilities are as the file says', async () => {
  const entry = {
    base_url: 'http://127.0.0.1:9',
    wire: 'anthropic',
    context_window: 32_000,
    max_output: 2000,
    reasoning: true,
    supports_vision: true,
  }
  const { router } = await routed(
    { local: entry, 'gpt-5': { context_window: 1000 } },
    { OPENAI_API_KEY: KEY },
  )
  const model = router.resolve('local')
  assert.deepEqual(
    [model.api, model.contextWindow, model.maxTokens, model.reasoning, model.input],
    ['anthropic-messages', 32_000, 2000, true, ['text', 'image']],
  )
  assert.equal(router.resolve('gpt-5').contextWindow, 1000)
})

test('headers alone go along on the usual way', async () => {
  await using server = await startModelServer({ script: () => ({ text: 'ok' }) })
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${server.url}/v1` }
  const { router } = await routed({ 'gpt-5': { headers: { 'x-team': '!printf blue' } } }, env)
  await ask({ router, model: router.resolve('gpt-5') }, [system, user('hi')])
  const { headers } = await server.request(1)
  assert.deepEqual([headers['x-team'], headers.authorization], ['blue', `Bearer ${KEY}`])
})

test('a command runs once a process, and only when its model is asked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beige-command-'))
  try {
    await using server = await startModelServer({ script: () => ({ text: 'ok' }), apiKey: KEY })
    const count = join(folder, 'count')
    const api_key = `!echo run >> ${count}; echo ${KEY}`
    const base_url = `${server.url}/v1`
    const { router } = await routed(
      { a: { base_url, api_key }, b: { base_url, api_key } },
      { PATH: '/usr/bin:/bin' },
    )
    await assert.rejects(readFile(count), { code: 'ENOENT' })
    for (const id of ['a', 'b', 'a'])
      assert.equal(
        (await ask({ router, model: router.resolve(id) }, [system, user('hi')])).outcome.state,
        'done',
      )
    assert.equal(await readFile(count, 'utf8'), 'run\n')
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a command that hangs is ended with all that it started', async () => {
  await assert.rejects(
    nodeCommand('sleep 100 & sleep 100', { PATH: '/usr/bin:/bin' }, 50),
    /no answer after 50 ms/,
  )
  await assert.rejects(nodeCommand('exit 3', {}, 5000), /exit 3/)
  // Something that is left behind does not hold the answer up.
  assert.equal(await nodeCommand('sleep 100 & echo said', { PATH: '/usr/bin:/bin' }, 5000), 'said\n')
})

test('a value that can not be had is told by its name, at the request', async () => {
  const base_url = 'http://127.0.0.1:9/v1'
  const file = { a: { base_url, api_key: '$NOT_SET' }, b: { base_url, api_key: '!exit 1' } }
  const { router } = await routed(file, {})
  const saying = async (id: string) =>
    failed(await ask({ router, model: router.resolve(id) }, [system, user('hi')])).message
  assert.match(await saying('a'), /No way to reach a/)
  assert.match(await saying('b'), /models.json has no usable key for b: its command failed/)
})

test('a broken file and every mistake in it are warnings without its values', async () => {
  const broken = await routed('{"a": {"api_key": "sk-secret"', { ANTHROPIC_API_KEY: KEY })
  assert.deepEqual(broken.warnings, ['HOME/models.json: it is no JSON, so nothing of it is used'])
  assert.equal(broken.router.resolve('claude-opus-4-8').provider, 'anthropic')
  const { entries, warnings } = parseModelsFile(
    JSON.stringify({
      a: { baseurl: 'sk-secret', base_url: 'ftp://sk-secret', context_window: 'sk-secret', reasoning: 1 },
      b: 'sk-secret',
      c: { wire: 'sk-secret', api_key: 'sk-secret' },
      d: { base_url: 'https://user:sk-secret@host' },
    }),
  )
  assert.deepEqual([...entries.keys()], ['a', 'c', 'd'])
  assert.ok(!JSON.stringify(warnings).includes('secret'))
  assert.deepEqual(
    warnings.map(text => text.slice(0, 48)),
    [
      '"a": baseurl is no field of it, did you mean bas',
      '"a": base_url must be an http or https URL witho',
      '"a": context_window must be a whole number above',
      '"a": reasoning must be true or false, and is lef',
      '"b" is no object and is left out',
      '"c": wire is none of anthropic-messages, openai-',
      '"c": api_key counts only beside a base_url',
      '"c": wire counts only beside a base_url',
      '"d": base_url must be an http or https URL witho',
    ],
  )
})
