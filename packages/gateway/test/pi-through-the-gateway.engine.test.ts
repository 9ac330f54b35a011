import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startModelServer } from '@beige/test-support'
import { gatewayAt, PROVIDER_KEY } from '../src/llm/models.fixture.ts'

const PI = new URL('../../../node_modules/.bin/pi', import.meta.url).pathname
const skip = existsSync(PI) ? false : 'absent: pi (npm ci installs it for the benchmarks)'

/** Runs the `pi` of npm as its user would, without a terminal. */
async function pi(port: number, key: string, args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'beige-pi-'))
  const models = ['scout', 'two/demo', 'three/demo'].map(id => ({ id, reasoning: true }))
  const beige = { baseUrl: `http://127.0.0.1:${port}`, api: 'pi-messages', apiKey: '$BEIGE_KEY', models }
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ providers: { beige } }))
  const child = spawn(PI, ['--no-session', '--provider', 'beige', ...args], {
    cwd: folder,
    env: {
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
      HOME: folder,
      PI_CODING_AGENT_DIR: folder,
      PI_OFFLINE: '1',
      BEIGE_KEY: key,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { out, err }
}

test('pi -p, unmodified: text, a tool, and the events as they come, from every wire of a provider', {
  skip,
}, async () => {
  await using server = await startModelServer({
    apiKey: PROVIDER_KEY,
    script: request => {
      const result = request.messages.flatMap(message => message.results).at(-1)
      if (result !== undefined) return { text: `It says ${result.text.trim()}.` }
      return {
        thinking: 'Let me see.',
        text: 'I look.',
        calls: [{ name: 'bash', input: { command: 'echo $((6 * 7))' } }],
      }
    },
  })
  const gateway = await gatewayAt(server.url)
  try {
    const key = gateway.keys.all ?? ''
    for (const model of ['scout', 'two/demo', 'three/demo']) {
      const ran = await pi(gateway.port, key, ['--model', model, '--thinking', 'low', '-p', 'what is it?'])
      assert.equal(ran.out.trim(), 'It says 42.', ran.err)
    }
    const streamed = await pi(gateway.port, key, ['--model', 'scout', '--mode', 'json', 'what is it?'])
    assert.match(streamed.out, /"text_delta"/)
    assert.match(streamed.out, /It says 42\./)
    const refused = await pi(gateway.port, `${key}x`, ['--model', 'scout', '-p', 'what is it?'])
    assert.match(refused.out + refused.err, /401/)
  } finally {
    await gateway.close()
  }
  assert.deepEqual(server.refusals, [])
})
