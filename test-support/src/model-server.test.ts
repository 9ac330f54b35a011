/** The server as other programs use it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { echoScript, startModelServer, taskScript } from './index.ts'

const chat = (content: string) => ({ model: 'm', stream: true, messages: [{ role: 'user', content }] })

function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
}

test('a list of turns, one a request, and then a plain 500', async () => {
  await using server = await startModelServer({ script: [{ text: 'one' }, { text: 'two' }] })
  assert.match(await (await post(server.url, chat('a'))).text(), /"one"/)
  assert.match(await (await post(server.url, chat('a'))).text(), /"two"/)
  const third = await post(server.url, chat('a'))
  assert.equal(third.status, 500)
  assert.match(await third.text(), /the script has no turn 2/)
})

test('a refused request does not use up a turn', async () => {
  await using server = await startModelServer({ script: [{ text: 'one' }], apiKey: 'k' })
  assert.equal((await post(server.url, chat('a'))).status, 401)
  assert.equal((await post(server.url, { model: 'm' }, { authorization: 'Bearer k' })).status, 400)
  assert.equal((await post(server.url, chat('a'), { authorization: 'Bearer k' })).status, 200)
  assert.equal(server.refusals.length, 2)
})

test('what is no endpoint, no JSON or no stream is answered', async () => {
  await using server = await startModelServer({ script: echoScript })
  assert.equal((await fetch(`${server.url}/v1/models`)).status, 404)
  const broken = await fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    body: '{',
    headers: { 'anthropic-version': 'x' },
  })
  assert.equal(broken.status, 400)
  assert.match(await (await post(server.url, { ...chat('a'), stream: false })).text(), /stream: true/)
})

test('a task goes on by its history, so sessions do not disturb each other', async () => {
  const script = taskScript([
    { calls: [{ name: 'bash', input: { command: 'ls' }, id: '1' }] },
    ({ lastResult }) => ({ text: `saw ${lastResult?.text}` }),
  ])
  await using server = await startModelServer({ script })
  const prompt = { role: 'user', content: 'go' }
  const call = { id: 'call_1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } }
  const round = [
    prompt,
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'x.ts' },
  ]
  const say = async (messages: object[]) =>
    (await post(server.url, { model: 'm', stream: true, messages })).text()
  assert.match(await say([prompt]), /call_1/)
  assert.match(await say([prompt]), /call_1/, 'the same request gets the same step')
  assert.match(await say(round), /saw x\.ts/)
  const over = [...round, { role: 'assistant', content: 'saw x.ts' }]
  assert.match(await say([...over, prompt]), /call_1/, 'a new prompt begins again')
})

test('as a process: prints its URL, echoes, stops on SIGTERM', async () => {
  const main = fileURLToPath(new URL('./model-server-main.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    [...process.execArgv.filter(arg => !arg.startsWith('--test')), main, 'echo'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  try {
    const [url] = await once(createInterface(child.stdout), 'line')
    assert.match(String(url), /^http:\/\/127\.0\.0\.1:\d+$/)
    assert.match(await (await post(String(url), chat('hello there'))).text(), /hello there/)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  } finally {
    child.kill('SIGKILL')
  }
})

test('as a process without a script: says how it is used', async () => {
  const main = fileURLToPath(new URL('./model-server-main.ts', import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv.filter(arg => !arg.startsWith('--test')), main])
  const text = child.stderr.setEncoding('utf8').toArray()
  const [code] = await once(child, 'exit')
  assert.equal(code, 2)
  assert.match((await text).join(''), /^usage: /)
})
