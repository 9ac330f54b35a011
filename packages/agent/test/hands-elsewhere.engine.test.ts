/** `--sandbox unix:/path` and `--exec-url`: the agent works in the folder that the endpoint says, and leaves it running. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing, startBaseEndpoint, startExecd, taskScript } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'

const missing = execdMissing()
const skip = missing && `absent: execd (${missing})`
const script = taskScript([
  { calls: [{ name: 'write', input: { path: 'a.txt', content: 'by path\n' } }] },
  { calls: [{ name: 'bash', input: { command: 'pwd > b.txt' } }] },
])

for (const flag of ['--sandbox', '--exec-url']) {
  test(`${flag} unix:/path`, { skip }, async () => {
    await using execd = await startExecd()
    await using bench = await agentBench(script)
    const { code, stderr } = await bench.agent(['run', flag, `unix:${execd.socketPath}`, 'go'])
    assert.equal(code, 0, stderr)
    assert.match(bench.seen[0]?.system ?? '', new RegExp(`The workspace is ${execd.root}\\.`))
    assert.equal(readFileSync(join(execd.root, 'a.txt'), 'utf8'), 'by path\n')
    assert.equal(readFileSync(join(execd.root, 'b.txt'), 'utf8'), `${execd.root}\n`)
    const again = await bench.agent(['run', flag, `unix:${execd.socketPath}`, 'go'])
    assert.equal(again.code, 0, again.stderr)
  })
}

test('nobody at the socket: it is said by name', { skip }, async () => {
  await using bench = await agentBench(script)
  const { code, stderr } = await bench.agent(['run', '--sandbox', `unix:${bench.home}/none.sock`, 'go'])
  assert.equal(code, 1)
  assert.match(stderr, /no exec endpoint answers at unix:.*none\.sock/)
})

test('an endpoint with the base request alone: it is said once, and the tools work', { skip }, async () => {
  await using execd = await startExecd()
  await using base = await startBaseEndpoint(execd.socketPath)
  await using bench = await agentBench(script)
  const { code, stderr } = await bench.agent(['run', '--exec-url', `unix:${base.socketPath}`, 'go'])
  assert.equal(code, 0, stderr)
  assert.equal(stderr.match(/warning: the exec endpoint has no \/health/g)?.length, 1, stderr)
  assert.equal(readFileSync(join(execd.root, 'a.txt'), 'utf8'), 'by path\n')
  assert.equal(readFileSync(join(execd.root, 'b.txt'), 'utf8'), `${execd.root}\n`)
})
