/** The command in this process, against an endpoint that is right or wrong in one way. */
import assert from 'node:assert/strict'
import { Readable, Writable } from 'node:stream'
import { test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { type Defect, startWrongExecEndpoint } from '@beige/test-support'
import type { ProcessWorld } from '../process-world.ts'
import { program } from '../program.ts'

const CHECKS = ['--only', 'exit code passes', '--only', 'missing program is 127 and not a 500']

async function conformance(defects: readonly Defect[], args: readonly string[], env = {}) {
  await using endpoint = await startWrongExecEndpoint(defects)
  const header = `authorization: ${endpoint.headers.authorization}`
  return await run(['--url', endpoint.url, '--header', header, ...CHECKS, ...args], env)
}

async function run(args: readonly string[], env: Record<string, string>) {
  const [out, err] = [collector(), collector()]
  const world: ProcessWorld = {
    ...{ env, cwd: '/', stdin: Readable.from([]), stdout: out.stream, stderr: err.stream },
    ...{ clock: systemClock, random: systemRandom },
    onSignal: () => () => undefined,
    onOutputClosed: () => () => undefined,
    exit: code => assert.fail(`exit ${code}`),
  }
  const code = await program(['conformance', 'exec', ...args], world)
  return { code, stdout: out.text(), stderr: err.text() }
}

test('one line a check, a sum at the end, exit 0', async () => {
  const { code, stdout } = await conformance([], [])
  assert.match(
    stdout,
    /^ok +\d+ ms {2}exit code passes\nok +\d+ ms {2}missing program is 127 and not a 500\n2 passed, 0 failed\n$/,
  )
  assert.equal(code, 0)
})

test('a failure has its reason on its line, and exit 1', async () => {
  const { code, stdout } = await conformance(['missing_program_is_500'], [])
  assert.match(
    stdout,
    /\nfailed +\d+ ms {2}missing program is 127 and not a 500: not the answer of a command: 500 /,
  )
  assert.match(stdout, /\n1 passed, 1 failed\n$/)
  assert.equal(code, 1)
})

test('--json is one report, without credentials', async () => {
  const { code, stdout } = await conformance(['exit_code_is_a_truth'], ['--json'])
  const report = JSON.parse(stdout)
  assert.deepEqual([code, report.protocol, report.passed, report.failed], [1, 'exec/2', 1, 1])
  assert.deepEqual(
    report.checks.map((check: { name: string; outcome: string }) => [check.name, check.outcome]),
    [
      ['exit code passes', 'failed'],
      ['missing program is 127 and not a 500', 'ok'],
    ],
  )
  assert.ok(!stdout.includes('Bearer'))
})

test('URL and headers come from variables as well', async () => {
  await using endpoint = await startWrongExecEndpoint()
  const { code, stdout } = await run(CHECKS, {
    AGENT_CONFORMANCE_EXEC_URL: endpoint.url,
    AGENT_CONFORMANCE_EXEC_HEADER: `authorization: ${endpoint.headers.authorization}`,
  })
  assert.match(stdout, /2 passed, 0 failed\n$/)
  assert.equal(code, 0)
})

test('where nothing answers, and what can not be used, is said: exit 2', async () => {
  const nobody = await run(['--url', 'unix:/nowhere/exec.sock'], {})
  assert.match(nobody.stderr, /no exec endpoint answers at unix:\/nowhere\/exec\.sock/)
  for (const args of [[], ['--url', 'ftp://x'], ['--url', 'http://x', '--header', 'secret']]) {
    const { code, stderr } = await run(args, {})
    assert.equal(code, 2)
    assert.ok(!stderr.includes('secret'))
  }
  assert.equal(nobody.code, 2)
})

function collector() {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    },
  })
  return { stream, text: () => text }
}
