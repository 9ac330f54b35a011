/** What a command is given, and what its end says. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOf, skip, startExecd } from './execd.ts'

test('exit codes, signals and the two outputs', { skip }, async t => {
  const execd = await startExecd(t)
  for (const code of [0, 1, 3, 127, 255]) {
    const answer = await execd.run({ command: 'sh', args: ['-c', `echo out; echo err >&2; exit ${code}`] })
    assert.deepEqual(
      [answer.status, answer.exit_code, answer.signal, answer.timed_out],
      [200, code, null, false],
    )
    assert.deepEqual([answer.stdout.toString(), answer.stderr.toString()], ['out\n', 'err\n'])
  }
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGSEGV']) {
    const answer = await execd.run({ command: 'sh', args: ['-c', `kill -${signal.slice(3)} $$`] })
    assert.deepEqual([answer.exit_code, answer.signal, answer.timed_out], [null, signal, false])
  }
})

test('a missing program is 127, one that can not run 126, a missing folder 126 with a plain word', {
  skip,
}, async t => {
  const execd = await startExecd(t)
  const missing = await execd.run({ command: 'no-such-program' })
  assert.deepEqual([missing.status, missing.exit_code], [200, 127])
  assert.match(missing.stderr.toString(), /^execd: no-such-program: command not found\n$/)
  assert.equal((await execd.run({ command: '/etc/passwd' })).exit_code, 126)
  const folder = await execd.run({ command: 'true', cwd: 'not/there' })
  assert.deepEqual([folder.status, folder.exit_code], [200, 126])
  assert.match(folder.stderr.toString(), /not\/there: No such file or directory/)
})

test('cwd is the root, or beneath it when relative', { skip }, async t => {
  const execd = await startExecd(t)
  mkdirSync(join(execd.root, 'a b'))
  const cwd = async (cwd?: string) =>
    (await execd.run({ command: 'pwd', ...(cwd ? { cwd } : {}) })).stdout.toString()
  assert.equal(await cwd(), `${realpathSync(execd.root)}\n`)
  assert.equal(await cwd('a b'), `${realpathSync(execd.root)}/a b\n`)
  assert.equal(await cwd('/'), '/\n')
})

test('variables are added and removed, and none of execd itself is seen', { skip }, async t => {
  const execd = await startExecd(t, { KEPT: '1', GONE: '2', EXECD_HOME: '/home/somebody' })
  const { stdout } = await execd.run({ command: 'env', env: { GONE: null, ADDED: 'a=b c\n', KEPT: '3' } })
  const text = stdout.toString()
  assert.match(text, /^ADDED=a=b c\n\n/m)
  assert.match(text, /^KEPT=3$/m)
  assert.match(text, /^HOME=\/home\/somebody$/m)
  assert.doesNotMatch(text, /^(GONE|EXECD_|PWD|OLDPWD)/m)
})

test('all byte values and a megabyte go through stdin and out', { skip }, async t => {
  const execd = await startExecd(t)
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  for (const bytes of [all, Buffer.alloc(0), Buffer.alloc(1024 * 1024, all)]) {
    const { stdout } = await execd.run({ command: 'cat', stdin: bytes.toString('base64') })
    assert.ok(stdout.equals(bytes))
  }
})

test('stdin that nobody reads does no harm', { skip }, async t => {
  const execd = await startExecd(t)
  const answer = await execd.run({ command: 'true', stdin: Buffer.alloc(1024 * 1024).toString('base64') })
  assert.equal(answer.exit_code, 0)
})

test('without stdin there is an end, and no pipe that a search tool would read', { skip }, async t => {
  const execd = await startExecd(t)
  const answer = await execd.run({ command: 'sh', args: ['-c', 'readlink /proc/self/fd/0; cat'] })
  assert.equal(answer.stdout.toString(), '/dev/null\n')
})

test('a command starts clean: three descriptors, no signal blocked or ignored, a session of its own', {
  skip,
}, async t => {
  const execd = await startExecd(t)
  const { stdout } = await execd.run({
    command: 'sh',
    // No pipe in it: the shell would hold its ends while `ls` looks. The masks are those of `grep`, which has the shell's:
    // dash itself has all signals blocked while it forks.
    args: [
      '-c',
      'ls /proc/$$/fd; grep -E "^Sig(Blk|Ign)" /proc/self/status; cut -d" " -f1,5,6 /proc/$$/stat',
    ],
  })
  const lines = stdout.toString().trimEnd().split('\n')
  assert.deepEqual(lines.slice(0, 5), [
    '0',
    '1',
    '2',
    'SigBlk:\t0000000000000000',
    'SigIgn:\t0000000000000000',
  ])
  const ids = lines[5]
  const [pid, group, session] = ids?.split(' ') ?? []
  assert.deepEqual([group, session], [pid, pid])
})

test('a command has the limits that execd was started with', { skip }, async t => {
  const execd = await startExecd(t)
  const { stdout } = await execd.run({ command: 'sh', args: ['-c', 'ulimit -Sn; ulimit -Hn'] })
  assert.equal(stdout.toString(), execFileSync('sh', ['-c', 'ulimit -Sn; ulimit -Hn'], { encoding: 'utf8' }))
})

test('a command can gain no privilege and make no namespace', { skip }, async t => {
  const execd = await startExecd(t)
  const status = await execd.run({
    command: 'grep',
    args: ['-E', '^(NoNewPrivs|Seccomp):', '/proc/self/status'],
  })
  assert.match(status.stdout.toString(), /NoNewPrivs:\t1\nSeccomp:\t2/)
  assert.notEqual((await execd.run({ command: 'unshare', args: ['--user', 'true'] })).exit_code, 0)
  // What needs threads, timers, sockets and child processes goes on as before.
  const script =
    "require('node:child_process').execFileSync('true'); fetch('http://127.0.0.1:1').catch(() => console.log('ok'))"
  assert.equal(
    (await execd.run({ command: process.execPath, args: ['-e', script] })).stdout.toString(),
    'ok\n',
  )
})

test('32 at once, each with its own output', { skip }, async t => {
  const execd = await startExecd(t)
  const answers = await Promise.all(
    Array.from({ length: 32 }, (_, index) =>
      execd.run({ command: 'sh', args: ['-c', `sleep 0.05; echo ${index}; exit ${index}`] }),
    ),
  )
  for (const [index, answer] of answers.entries()) {
    assert.deepEqual([answer.exit_code, answer.stdout.toString()], [index, `${index}\n`])
  }
})

test('one more than EXECD_MAX_JOBS is refused and starts nothing', { skip }, async t => {
  const execd = await startExecd(t, { EXECD_MAX_JOBS: '1' })
  const { frames, close } = await execd.stream({ command: 'sleep', args: ['600'] })
  await frames.next()
  const reply = await execd.send('POST', '/', JSON.stringify({ command: 'true' }))
  assert.deepEqual([reply.status, codeOf(reply)], [429, 'limit'])
  close()
})

test('an answer over its bound is an error that says that the command ran', { skip }, async t => {
  const execd = await startExecd(t, { EXECD_MAX_RESPONSE_BYTES: '100000' })
  const reply = await execd.send(
    'POST',
    '/',
    JSON.stringify({ command: 'sh', args: ['-c', 'while :; do echo x; done'] }),
  )
  assert.deepEqual([reply.status, codeOf(reply)], [413, 'too_large'])
  assert.match(reply.text, /did run/)
  const fits = await execd.run({ command: 'head', args: ['-c', '70000', '/dev/zero'] })
  assert.equal(fits.stdout.length, 70_000)
})
