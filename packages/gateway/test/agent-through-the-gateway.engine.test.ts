/** The `agent` command with a virtual key: its models come through the gateway, on each of the wires that it picks. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { makeWorkspace } from '@beige/sandbox'
import { compileCache, startModelServer } from '@beige/test-support'
import { gatewayAt, PROVIDER_KEY } from '../src/llm/models.fixture.ts'

const MAIN = new URL('../../agent/src/main.ts', import.meta.url).pathname

async function agent(port: number, key: string, model: string) {
  const folder = mkdtempSync(join(tmpdir(), 'beige-through-'))
  const workspace = join(folder, 'workspace')
  makeWorkspace(workspace)
  try {
    const args = ['run', '--sandbox', 'host', '--no-session-persistence', '--model', model, 'what is it?']
    const child = spawn(process.execPath, ['--conditions=beige-source', MAIN, ...args], {
      cwd: workspace,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        ...compileCache(),
        AI_GATEWAY_URL: `http://127.0.0.1:${port}`,
        AI_AGENT_KEY: key,
        ANTHROPIC_API_KEY: 'of-nobody',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { out, err }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('a virtual key leads the agent to the models behind the gateway, tools included', async () => {
  await using server = await startModelServer({
    apiKey: PROVIDER_KEY,
    script: request => {
      const result = request.messages.flatMap(message => message.results).at(-1)
      if (result !== undefined) return { text: 'It says 42.' }
      return { text: 'I look.', calls: [{ name: 'bash', input: { command: 'echo 42' } }] }
    },
  })
  const gateway = await gatewayAt(server.url)
  try {
    const key = gateway.keys.all ?? ''
    for (const model of ['scout', 'two/demo', 'three/demo']) {
      const ran = await agent(gateway.port, key, model)
      assert.equal(ran.out.trim(), 'It says 42.', ran.err)
    }
    const refused = await agent(gateway.port, `${key}x`, 'scout')
    assert.equal(refused.out, '')
    assert.ok(refused.err.length > 0 && !refused.err.includes(key), refused.err)
  } finally {
    await gateway.close()
  }
  assert.deepEqual(server.refusals, [])
})
