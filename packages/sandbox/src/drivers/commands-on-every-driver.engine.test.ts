/** What every driver does, whatever makes its sandboxes. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { isError } from '@beige/protocol'
import { sh, testOnDrivers, until } from '../../test/machine.ts'

testOnDrivers('argv, stdin, both streams and the exit code arrive as they are', async ({ open, signal }) => {
  const { exec } = await open()
  const args = ['a b', "it's", '"', '$(id)', 'new\nline', '', '-n', '漢字']
  const { stdout } = await exec.run({ command: 'printf', args: ['%s\\0', ...args] }, signal)
  assert.deepEqual(Buffer.from(stdout).toString().split('\0').slice(0, -1), args)

  const bytes = Uint8Array.from({ length: 256 }, (_none, at) => at)
  const echo = await exec.run({ command: 'cat', stdin: bytes }, signal)
  assert.deepEqual([...echo.stdout], [...bytes])

  const failed = await exec.run({ command: 'sh', args: ['-c', 'echo bad >&2; exit 7'] }, signal)
  assert.deepEqual([failed.exitCode, Buffer.from(failed.stderr).toString()], [7, 'bad\n'])
  const killed = await exec.run({ command: 'sh', args: ['-c', 'kill -9 $$'] }, signal)
  assert.deepEqual([killed.exitCode, killed.signal], [null, 'SIGKILL'])
  assert.equal((await exec.run({ command: 'no-such-program' }, signal)).exitCode, 127)
})

testOnDrivers('output comes while the command runs', async ({ open, signal }) => {
  const { exec } = await open()
  const chunks: string[] = []
  const end = await exec.stream(
    // It goes on only after its first output was seen: a reply through the file that the reader makes.
    { command: 'sh', args: ['-c', 'echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2'] },
    async chunk => {
      chunks.push(`${chunk.stream}:${Buffer.from(chunk.bytes).toString()}`)
      if (chunks.length === 1) await exec.writeFile('go', new Uint8Array(0), signal)
    },
    signal,
  )
  assert.deepEqual([end.exitCode, chunks], [0, ['stdout:one\n', 'stderr:two\n']])
})

const HARD_TO_KILL =
  'setsid sleep 4242 & (setsid sh -c "sleep 4242 & sleep 4242" &) ; nohup sleep 4242 & sleep 4242'

testOnDrivers('H20: an abort leaves no process', async ({ open, signal }) => {
  const { exec } = await open()
  const count = async () => Number(await sh(exec, 'pgrep -c -x -f "sleep 4242" || true', signal))
  for (const way of ['run', 'stream'] as const) {
    const abort = new AbortController()
    const command = { command: 'bash', args: ['-c', HARD_TO_KILL] }
    const running =
      way === 'run' ? exec.run(command, abort.signal) : exec.stream(command, () => {}, abort.signal)
    const ended = running.catch((error: unknown) => error)
    await until(async () => (await count()) >= 4, signal)
    abort.abort()
    const error = await ended
    assert.ok(isError(error, 'aborted') && error.data.ended === true, String(error))
    assert.equal(await count(), 0, way)
  }
})

testOnDrivers('a timeout ends the whole tree and keeps what was said', async ({ open, signal }) => {
  const { exec } = await open()
  const command = { command: 'bash', args: ['-c', `echo before; ${HARD_TO_KILL}`], timeout_ms: 300 }
  const { timedOut, stdout } = await exec.run(command, signal)
  assert.deepEqual([timedOut, Buffer.from(stdout).toString()], [true, 'before\n'])
  assert.equal((await sh(exec, 'pgrep -c -x -f "sleep 4242" || true', signal)).trim(), '0')
})

testOnDrivers('H61: files belong to the owner of the workspace, inside and on the host', async bench => {
  const { exec, workspace } = await bench.open()
  const host = join(bench.folder, 'workspace')
  const owner = statSync(host)
  assert.notEqual(owner.uid, 0)
  await sh(exec, 'echo x > by-command', bench.signal)
  await exec.writeFile('by-call', new TextEncoder().encode('x'), bench.signal)
  for (const name of ['by-command', 'by-call']) {
    assert.equal(statSync(join(host, name)).uid, owner.uid, name)
    assert.equal((await sh(exec, 'stat -c %u "$1"', bench.signal, name)).trim(), `${owner.uid}`)
  }
  assert.equal((await sh(exec, 'id -u', bench.signal)).trim(), `${owner.uid}`)
  assert.equal((await sh(exec, 'pwd', bench.signal)).trim(), workspace)
})

testOnDrivers('nothing of our environment is inside, and what the spec names is', async bench => {
  process.env.BEIGE_TEST_SECRET = 'canary-7431'
  const { exec } = await bench.open({ env: { GIVEN: 'yes' } })
  const seen = await sh(
    exec,
    'env; cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"; true',
    bench.signal,
  )
  delete process.env.BEIGE_TEST_SECRET
  assert.match(seen, /^GIVEN=yes$/m)
  assert.doesNotMatch(seen, /canary-7431/)
  assert.doesNotMatch(await sh(exec, 'env', bench.signal), /^(EXECD_|npm_|NODE_)/m)
})

testOnDrivers('thirty commands at once', async ({ open, signal }) => {
  const { exec } = await open()
  const outputs = await Promise.all(
    Array.from({ length: 30 }, (_none, at) => sh(exec, 'sleep 0.1; echo "$1"', signal, `${at}`)),
  )
  assert.deepEqual(
    outputs.map(Number),
    Array.from({ length: 30 }, (_none, at) => at),
  )
})

testOnDrivers('no descriptor of ours reaches a command', async ({ open, signal }) => {
  const { exec } = await open()
  const links = await sh(exec, 'for f in /proc/$$/fd/*; do readlink "$f" || true; done', signal)
  // Its three streams and, while the loop expands, the directory itself.
  const others = links.split('\n').filter(link => link && !/^pipe:|^\/dev\/null$|^\/proc\//.test(link))
  assert.deepEqual(others, [])
})

testOnDrivers('closing ends what runs in it', async ({ open, signal }) => {
  const sandbox = await open()
  const marker = `4${process.pid}`
  const running = sandbox.exec.run({ command: 'sleep', args: [marker] }, signal).catch(error => error)
  const isThere = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`sleep ${marker}`)
  await until(isThere, signal)
  await sandbox.close()
  assert.ok(isError(await running, 'aborted'))
  assert.equal(isThere(), false)
})
