/** Which session a start means, what it says where, and with what code it ends. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeWorkspace } from '@beige/sandbox'
import { lastPrompt, taskScript } from '@beige/test-support'
import { agentBench, eventsOf, KEY } from './agent-bench.ts'

test('a pipe gets the final text alone; the facts are on stderr', async () => {
  await using bench = await agentBench(taskScript([{ text: 'Done.\nTwice.', usage: { inputTokens: 1500 } }]))
  const { code, stdout, stderr } = await bench.agent(['run', 'go'])
  assert.deepEqual([code, stdout], [0, 'Done.\nTwice.\n'])
  assert.match(stderr, /^\[done in 1 step; 1\.5k in \/ \d+ out tokens\]\n$/)
})

test('several tasks are turns in order of one session', async () => {
  await using bench = await agentBench(request => ({ text: `did ${lastPrompt(request).split('\n')[0]}` }))
  const { code, stdout } = await bench.agent(['run', 'one', 'two'])
  assert.deepEqual([code, stdout], [0, 'did one\ndid two\n'])
  assert.equal(bench.seen[1]?.messages.length, 3)
})

test('a model that fails: exit 1, what failed and why on stderr, nothing on stdout, no key', async () => {
  const fault = { kind: 'status', status: 400, message: `no such thing \u001b[31m ${KEY}` } as const
  await using bench = await agentBench([{ fault }])
  const { code, stdout, stderr } = await bench.agent(['run', 'go'])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /claude-opus-4-8 did not answer: .*no such thing/)
  assert.ok(!stderr.includes('\u001b') && !stderr.includes(KEY), stderr)
})

test('a refusal: exit 1 for people, 0 for a program that reads events', async () => {
  await using bench = await agentBench(() => ({ text: 'No.', stop: 'refusal' }))
  const text = await bench.agent(['run', 'go'])
  assert.equal(text.code, 1)
  assert.match(text.stderr, /\[refused\]/)
  const json = await bench.agent(['run', '--json', 'go'])
  assert.equal(json.code, 0, json.stderr)
  assert.equal(eventsOf(json.stdout, 'agent_end')[0]?.outcome, 'refused')
})

test('--max-steps ends the run with its reason, and the session can go on', async () => {
  const again = () => ({ calls: [{ name: 'nothing', input: {} }] })
  await using bench = await agentBench(again)
  const { code, stderr } = await bench.agent(['run', '--session-id', 's_1', '--max-steps', '3', 'go'])
  assert.equal(code, 1)
  assert.match(stderr, /stopped after 3 turns.*--max-steps/)
  assert.equal(bench.seen.length, 3)
  const next = await bench.agent(['run', '--session-id', 's_1', '--max-steps', '1', 'go'])
  assert.equal(next.code, 1)
  assert.deepEqual(bench.server.refusals, [])
})

for (const [title, args, env, says] of [
  ['an unknown flag', ['run', '--modle', 'x', 'hi'], {}, /--modle.*--model/s],
  ['an unknown command', ['rnu', 'hi'], {}, /rnu.*run/s],
  ['a bad number', ['run', '--max-steps', '0', 'hi'], {}, /--max-steps/],
  ['a bad sandbox', ['run', '--sandbox', 'dokcer', 'hi'], {}, /--sandbox.*docker/],
  ['a bad id', ['run', '--session-id', '../x', 'hi'], {}, /--session-id/],
  ['a bad key', ['run', '--session-id', 's', '--idempotency-key', 'a b', 'hi'], {}, /--idempotency-key/],
  ['a key without its session', ['run', '--idempotency-key', 'a', 'hi'], {}, /--session-id/],
  ['no task', ['run'], {}, /no task/],
  ['an empty task', ['run', ' '], {}, /no task/],
  [
    'no route to a model',
    ['run', '--model', 'claude-opus-4-8', 'hi'],
    { AI_BASE_URL: '', AI_PROVIDER: '', AI_API_KEY: '' },
    /claude-opus-4-8.*ANTHROPIC_API_KEY/,
  ],
] as const)
  test(`${title}: exit 2 by name, and nothing is made`, async () => {
    await using bench = await agentBench([])
    const { code, stdout, stderr } = await bench.agent(args, env)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, says)
    assert.ok(!stderr.includes('    at '), 'no stack')
    assert.ok(!existsSync(bench.home), 'no state directory')
    assert.equal(bench.server.requests.length, 0)
  })

test('--help and --version answer without anything else', async () => {
  await using bench = await agentBench([])
  const version = await bench.agent(['--version'])
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
  const help = await bench.agent(['run', '--help'])
  assert.match(help.stdout, /--session-id/)
  const json = await bench.agent(['run', '--json', '--help'])
  assert.deepEqual([json.code, json.stdout], [0, ''])
  assert.match(json.stderr, /--session-id/)
})

test('--continue is the newest session of this directory, with the model it had', async () => {
  await using bench = await agentBench(request => ({
    text: `${request.messages.length} of ${request.model}`,
  }))
  const other = join(bench.workspace, 'other')
  makeWorkspace(other)
  const models = { first: 'claude-opus-4-8', second: 'claude-sonnet-4-6' }
  await bench.agent(['run', '--session-id', 's_first', 'a'])
  await bench.agent(['run', '--session-id', 's_second', '--model', models.second, 'b'])
  await bench.agentIn(other, ['run', 'c'])
  assert.equal((await bench.agent(['run', '-c', 'd'])).stdout, `3 of ${models.second}\n`)
  const named = await bench.agent(['run', '--session-id', 's_first', 'e'])
  assert.equal(named.stdout, `3 of ${models.first}\n`)
  assert.equal((await bench.agent(['run', '-c', 'f'])).stdout, `5 of ${models.first}\n`)
  assert.equal((await bench.agent(['run', 'g'])).stdout, `1 of ${models.first}\n`)
})

test('a session of another directory: the model is told that the workspace is another one', async () => {
  await using bench = await agentBench(() => ({ text: 'ok' }))
  const other = join(bench.workspace, 'other')
  makeWorkspace(other)
  await bench.agent(['run', '--session-id', 's_moved', 'a'])
  await bench.agentIn(other, ['run', '--session-id', 's_moved', 'b'])
  const [first, second] = bench.seen.map(lastPrompt)
  assert.doesNotMatch(first ?? '', /another directory/)
  assert.match(second ?? '', /another directory/)
})

test('a session that a live owner holds: exit 75, and the owner is not disturbed', async () => {
  await using bench = await agentBench(() => ({ text: 'mine' }))
  const owner = bench.start(['serve', '--session-id', 's_held'])
  await owner.frame({ type: 'ready' })
  for (const command of ['run', 'serve']) {
    const { code, stdout, stderr } = await bench.agent([
      command,
      '--session-id',
      's_held',
      ...(command === 'run' ? ['go'] : []),
    ])
    assert.deepEqual([code, stdout], [75, ''])
    assert.match(stderr, /s_held is held by another live process/)
  }
  owner.send({ type: 'prompt', id: '1', message: 'hi' })
  await owner.frame({ type: 'response', id: '1', success: true })
})

test('--no-session-persistence leaves nothing on the disk', async () => {
  await using bench = await agentBench([{ text: 'ok' }])
  const { code, stderr } = await bench.agent(['run', '--no-session-persistence', 'go'])
  assert.equal(code, 0, stderr)
  assert.ok(!existsSync(join(bench.home, 'sessions')))
})
