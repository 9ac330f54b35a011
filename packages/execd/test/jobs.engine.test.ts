/** Jobs: started once whoever asks, kept, found again, killed, apart by scope. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newMarker, processesWith, skip, startExecd, until } from './execd.ts'
import {
  jobOf,
  listOf,
  output,
  outputFrames,
  post,
  readUpTo,
  startAndLeave,
  stateOf,
  statusAndCode,
  textOf,
  untilExited,
} from './jobs.ts'
import { TREES } from './trees.ts'

const LOOP = 'while :; do sleep 0.2; done'
/** Counts its runs in a file, waits for another, and says how it went. */
const COUNTED = 'echo run >> count; until [ -e go ]; do sleep 0.02; done; echo out; echo err >&2; exit 7'

test('a job survives its caller, and is all there afterwards', { skip }, async t => {
  const execd = await startExecd(t)
  await startAndLeave(execd, jobOf('a', COUNTED))
  assert.equal((await stateOf(execd, 'a')).state, 'running')
  writeFileSync(join(execd.root, 'go'), '')
  const state = await untilExited(execd, 'a')
  assert.deepEqual(
    [state.exit_code, state.signal, state.timed_out, state.kept, state.stdout_bytes, state.stderr_bytes],
    [7, null, false, true, 4, 4],
  )
  assert.deepEqual([state.command, state.args, state.cwd], ['sh', ['-c', COUNTED], execd.root])
  assert.ok(state.started_at <= (state.ended_at ?? 0))
  const frames = await outputFrames(execd, 'a')
  assert.deepEqual([textOf(frames), textOf(frames, 'stderr')], ['out\n', 'err\n'])
  assert.deepEqual(frames.at(-1), { type: 'exit', exit_code: 7, signal: null, timed_out: false })
})

test('the same id twice runs once: running, by both kinds of answer, and finished', { skip }, async t => {
  const execd = await startExecd(t)
  const request = jobOf('a', COUNTED)
  const streams = await Promise.all(Array.from({ length: 8 }, () => execd.stream(request)))
  const oneShots = Array.from({ length: 4 }, () => execd.run(request))
  await until('it runs', () => existsSync(join(execd.root, 'count')))
  writeFileSync(join(execd.root, 'go'), '')
  for (const { frames } of streams) {
    const all = await Array.fromAsync(frames)
    assert.deepEqual([all[0]?.type, all.at(-1)?.exit_code, textOf(all)], ['start', 7, 'out\n'])
  }
  for (const answer of await Promise.all(oneShots)) {
    assert.deepEqual([answer.exit_code, `${answer.stdout}`, `${answer.stderr}`], [7, 'out\n', 'err\n'])
  }
  assert.equal((await execd.run(request)).exit_code, 7)
  assert.equal(readFileSync(join(execd.root, 'count'), 'utf8'), 'run\n')
})

test('the same id with another body is a conflict, other job fields are not', { skip }, async t => {
  const execd = await startExecd(t)
  const request = jobOf('a', 'echo run >> count; cat')
  await execd.run({ ...request, stdin: 'aGk=', env: { A: '1' }, cwd: '/tmp/../tmp' })
  const same = { ...request, stdin: 'aGk=', env: { A: '1' }, cwd: '/tmp/../tmp' }
  for (const other of [
    { ...same, args: ['-c', 'true'] },
    { ...same, args: ['-c', 'echo run >> count; cat', ''] },
    { ...same, command: 'bash' },
    { ...same, stdin: 'aGkh' },
    { ...same, env: { A: null } },
    { ...same, cwd: '/tmp' },
    request,
  ]) {
    assert.deepEqual(statusAndCode(await post(execd, other)), [409, 'conflict'], JSON.stringify(other))
  }
  const again = { ...same, timeout_ms: 5, job: { id: 'a', scope: 's', ttl_s: 9 } }
  assert.equal((await execd.run(again)).exit_code, 0)
})

test('another instance starts nothing', { skip }, async t => {
  const execd = await startExecd(t)
  const { instance } = JSON.parse((await execd.send('GET', '/health')).text)
  const wrong = jobOf('a', 'echo run >> count', { instance: `${instance}x` })
  assert.deepEqual(statusAndCode(await post(execd, wrong)), [410, 'gone'])
  assert.equal((await execd.send('GET', '/jobs/a?scope=s')).status, 404)
  assert.equal(existsSync(join(execd.root, 'count')), false)
  assert.equal((await execd.run(jobOf('a', 'echo run >> count', { instance }))).exit_code, 0)
})

test('a closed connection kills a job that is not kept, and its end is held', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const script = `${TREES['all at once']?.(marker)}`
  const { frames, close } = await execd.stream(jobOf('a', script, { keep: false }))
  await readUpTo(frames, 'stdout')
  close()
  const state = await untilExited(execd, 'a')
  assert.deepEqual(processesWith(marker), [])
  assert.deepEqual([state.signal !== null, state.kept], [true, false])
  const { frames: again } = await execd.stream(jobOf('a', script))
  assert.equal((await Array.fromAsync(again)).at(-1)?.signal, state.signal)
})

test('a running stream becomes a job by PATCH, and goes on without its reader', { skip }, async t => {
  const execd = await startExecd(t)
  const { frames, close } = await execd.stream({ command: 'sh', args: ['-c', COUNTED] })
  const start = (await frames.next()).value
  const path = `/jobs/${start?.job}`
  const kept = await execd.send('PATCH', path, '{"keep":true}')
  assert.deepEqual([kept.status, JSON.parse(kept.text).kept], [200, true])
  close()
  writeFileSync(join(execd.root, 'go'), '')
  await untilExited(execd, `${start?.job}`, '')
  const { frames: rest } = await execd.follow('GET', `${path}/output`)
  assert.equal(textOf(await Array.fromAsync(rest)), 'out\n')
  assert.deepEqual(statusAndCode(await execd.send('PATCH', path, '{"keep":true}')), [409, 'conflict'])
  assert.equal((await execd.send('PATCH', path, '{"keep":false}')).status, 400)
})

test('a stream that nobody named is forgotten with its end', { skip }, async t => {
  const execd = await startExecd(t)
  const { frames } = await execd.stream({ command: 'true' })
  const [start] = await Array.fromAsync(frames)
  assert.equal((await execd.send('GET', `/jobs/${start?.job}`)).status, 404)
  assert.deepEqual(await listOf(execd, ''), [])
})

for (const kind of ['a job', 'a stream that is not kept', 'a stream that nobody named']) {
  test(`DELETE of ${kind} answers when nothing is left, and again the same`, { skip }, async t => {
    const execd = await startExecd(t)
    const marker = newMarker()
    const keep = kind === 'a job'
    const { job, ...bare } = jobOf('a', `${TREES['all at once']?.(marker)}`, { keep })
    const isNamed = kind !== 'a stream that nobody named'
    const { frames } = await execd.stream(isNamed ? { ...bare, job } : bare)
    const start = (await frames.next()).value
    await readUpTo(frames, 'stdout')
    const path = isNamed ? '/jobs/a?scope=s' : `/jobs/${start?.job}`
    const reply = await execd.send('DELETE', path)
    assert.deepEqual(processesWith(marker), [])
    assert.equal(reply.status, 200)
    assert.equal(JSON.parse(reply.text).state, 'exited')
    assert.match(JSON.parse(reply.text).signal, /^SIG(TERM|KILL)$/)
    const last = (await Array.fromAsync(frames)).at(-1)
    assert.deepEqual([last?.type, last?.signal], ['exit', JSON.parse(reply.text).signal])
    if (isNamed) assert.equal((await execd.send('DELETE', path)).text, reply.text)
  })
}

test('DELETE ends one whose reader has stopped to read', { skip }, async t => {
  const execd = await startExecd(t)
  const { message, frames } = await execd.stream(jobOf('a', 'exec yes', { keep: false }))
  await frames.next()
  message.pause()
  let last = -1
  await until('it waits for its reader', async () => {
    const { stdout_bytes } = await stateOf(execd, 'a')
    const isSame = stdout_bytes === last
    last = stdout_bytes
    return isSame
  })
  const reply = await execd.send('DELETE', '/jobs/a?scope=s')
  assert.equal(JSON.parse(reply.text).state, 'exited')
})

test('scopes are apart, and are killed and forgotten each alone', { skip }, async t => {
  const execd = await startExecd(t)
  const [mine, other] = [newMarker(), newMarker()]
  const tree = (marker: string) => `setsid sh -c '${LOOP}' ${marker} & ${LOOP}`
  await startAndLeave(execd, jobOf('a', tree(mine)))
  await startAndLeave(execd, jobOf('b', 'true'))
  await startAndLeave(execd, jobOf('a', tree(other), { scope: 'a/b:c' }))
  await until('both run', () => processesWith(mine).length > 0 && processesWith(other).length > 0)
  assert.deepEqual(
    (await listOf(execd)).map(({ id, scope }) => [id, scope]),
    [
      ['a', 's'],
      ['b', 's'],
    ],
  )
  assert.deepEqual((await listOf(execd, encodeURIComponent('a/b:c'))).length, 1)
  const reply = await execd.send('DELETE', '/scopes/s')
  assert.deepEqual(JSON.parse(reply.text), { killed: 1, forgotten: 2 })
  assert.deepEqual(processesWith(mine), [])
  assert.notDeepEqual(processesWith(other), [])
  assert.deepEqual(await listOf(execd), [])
  for (const id of ['a', 'b']) {
    assert.deepEqual(statusAndCode(await execd.send('GET', `/jobs/${id}?scope=s`)), [410, 'gone'])
    assert.deepEqual(statusAndCode(await post(execd, jobOf(id, 'echo again'))), [410, 'gone'])
  }
  assert.equal(
    JSON.parse((await execd.send('DELETE', `/scopes/${encodeURIComponent('a/b:c')}`)).text).killed,
    1,
  )
  assert.deepEqual(processesWith(other), [])
})

test('a lower fence is refused on every call of jobs', { skip }, async t => {
  const execd = await startExecd(t)
  await startAndLeave(execd, jobOf('a', LOOP))
  await execd.send('GET', '/jobs?scope=s', undefined, { 'X-Exec-Fence': 's 2' })
  const old = { 'X-Exec-Fence': 's 1' }
  for (const [method, path] of [
    ['POST', '/'],
    ['GET', '/jobs/a?scope=s'],
    ['PATCH', '/jobs/a?scope=s'],
    ['POST', '/jobs/a/stdin?scope=s'],
    ['DELETE', '/jobs/a?scope=s'],
    ['DELETE', '/scopes/s'],
  ] as const) {
    assert.deepEqual(statusAndCode(await execd.send(method, path, undefined, old)), [409, 'conflict'], path)
  }
  assert.equal((await stateOf(execd, 'a')).state, 'running')
})

test('a command that can not start ends as a shell would have it; a job of it is held', { skip }, async t => {
  const execd = await startExecd(t)
  const job = { id: 'a', scope: 's', keep: true }
  const answer = await execd.run({ command: 'no-such-program', job })
  assert.deepEqual(
    [answer.exit_code, `${answer.stderr}`],
    [127, 'execd: no-such-program: command not found\n'],
  )
  assert.equal((await stateOf(execd, 'a')).exit_code, 127)
})

test('a timeout kills a job that nobody waits for, and says so', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  await startAndLeave(execd, { ...jobOf('a', `echo before; sh -c '${LOOP}' ${marker}`), timeout_ms: 300 })
  const state = await untilExited(execd, 'a')
  assert.deepEqual([state.timed_out, state.stdout_bytes, processesWith(marker)], [true, 7, []])
})

test('SIGTERM kills kept jobs, and a new start knows nothing of them', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  await startAndLeave(execd, jobOf('a', `setsid sh -c '${LOOP}' ${marker} & ${LOOP}`))
  await until('it runs', () => processesWith(marker).length > 0)
  const { instance } = JSON.parse((await execd.send('GET', '/health')).text)
  execd.kill('SIGTERM')
  assert.equal(await execd.ended, 0)
  assert.deepEqual(processesWith(marker), [])
  const next = await startExecd(t, { EXECD_LISTEN: `unix:${execd.socketPath}` })
  assert.equal((await execd.send('GET', '/jobs/a?scope=s')).status, 404)
  assert.deepEqual(statusAndCode(await post(execd, jobOf('a', 'true', { instance }))), [410, 'gone'])
  assert.notEqual(next.pid, execd.pid)
})

test('EXECD_IDLE_EXIT_S waits for a running job', { skip }, async t => {
  const execd = await startExecd(t, { EXECD_IDLE_EXIT_S: '1' })
  const done = join(execd.root, 'done')
  const { frames, message } = await execd.stream(jobOf('a', `sleep 2.5; touch ${done}`))
  await frames.next()
  message.destroy()
  await execd.send('GET', '/health', undefined, { Connection: 'close' })
  assert.equal(await execd.ended, 0)
  assert.equal(existsSync(done), true)
})

test('what is no job is refused', { skip }, async t => {
  const execd = await startExecd(t)
  await execd.run(jobOf('a', 'true'))
  for (const path of [
    '/jobs/a?scope=s%20s',
    '/jobs/a%20b',
    '/jobs/a/output?scope=s&stdout=-1',
    '/jobs/a/output?scope=s&wait_ms=1.5',
    '/jobs/a/output?scope=s&offset=1',
  ]) {
    assert.equal((await execd.send('GET', path)).status, 400, path)
  }
  const { frames } = await output(execd, 'a', '&stdout=18446744073709551615')
  assert.equal((await Array.fromAsync(frames)).at(-1)?.exit_code, 0)
})
