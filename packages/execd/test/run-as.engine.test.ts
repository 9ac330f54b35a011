/** EXECD_RUN_AS: commands and file calls are that user's, and what is execd's stays out of their reach. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { codeOf, needsRoot, newMarker, processesWith, startExecd } from './execd.ts'

const UID = 4242

async function startAsUser(t: TestContext) {
  const base = await startExecd(t)
  const token = join(base.folder, 'token')
  writeFileSync(token, 'the-token', { mode: 0o600 })
  chmodSync(base.folder, 0o711)
  const execd = await startExecd(t, {
    EXECD_RUN_AS: String(UID),
    EXECD_BEARER_FILE: token,
    SECRET: 'in-environ',
  })
  chmodSync(execd.folder, 0o711)
  chmodSync(execd.root, 0o777)
  const headers = { authorization: 'Bearer the-token' }
  const run = async (script: string, timeout_ms = 60_000) => {
    const body = JSON.stringify({ command: 'sh', args: ['-c', script], timeout_ms })
    const answer = JSON.parse((await execd.send('POST', '/', body, headers)).text)
    const text = (value: string) => Buffer.from(value, 'base64').toString()
    return { ...answer, stdout: text(answer.stdout), stderr: text(answer.stderr) }
  }
  const send = (method: string, path: string, body?: string) => execd.send(method, path, body, headers)
  return { execd, token, run, send }
}

test('ids, groups and capabilities are the user’s alone', { skip: needsRoot }, async t => {
  const { run } = await startAsUser(t)
  const status = await run(
    'grep -E "^(Uid|Gid|Groups|CapEff|CapPrm|CapInh|CapAmb):" /proc/self/status; echo $HOME',
  )
  const none = '0000000000000000'
  assert.deepEqual(
    status.stdout.split(/\s+/).filter((word: string) => /^[0-9a-f/]+$/.test(word)),
    [...Array(8).fill(String(UID)), String(UID), ...Array(4).fill(none), '/'],
  )
  assert.equal((await run('echo hi > /dev/stdout')).stdout, 'hi\n')
})

test('token, memory and environment can not be read, and nothing of it can be signalled', {
  skip: needsRoot,
}, async t => {
  const { execd, token, run } = await startAsUser(t)
  const proc = `/proc/${execd.pid}`
  const attempts = [`cat ${token}`, `cat ${proc}/environ`, `cat ${proc}/mem`, `ls ${proc}/fd`]
  for (const attempt of [
    ...attempts,
    'cat /proc/$PPID/environ',
    'cat /proc/$PPID/mem',
    'ls /proc/$PPID/fd',
  ]) {
    const answer = await run(attempt)
    assert.notEqual(answer.exit_code, 0, attempt)
    assert.equal(answer.stdout, '')
  }
  for (const pid of [execd.pid, '$PPID']) assert.notEqual((await run(`kill -KILL ${pid}`)).exit_code, 0)
  assert.equal((await run('true')).exit_code, 0)
})

test('a timeout still kills what is another user’s', { skip: needsRoot }, async t => {
  const { run } = await startAsUser(t)
  const marker = newMarker()
  const answer = await run(
    `setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' ${marker} & sleep 600`,
    500,
  )
  assert.equal(answer.timed_out, true)
  assert.deepEqual(processesWith(marker), [])
})

test('file calls have the user’s rights', { skip: needsRoot }, async t => {
  const { execd, token, send } = await startAsUser(t)
  assert.equal((await send('PUT', '/files?path=mine', 'x')).status, 201)
  assert.deepEqual(
    [statSync(join(execd.root, 'mine')).uid, statSync(join(execd.root, 'mine')).gid],
    [UID, UID],
  )
  for (const [method, path] of [
    ['GET', token],
    ['PUT', token],
    ['DELETE', token],
    ['PUT', '/etc/planted'],
    ['GET', '/etc/shadow'],
  ] as const) {
    const reply = await send(
      method,
      `/files?path=${encodeURIComponent(path)}`,
      method === 'PUT' ? 'x' : undefined,
    )
    assert.deepEqual([reply.status, codeOf(reply)], [403, 'bad_request'], `${method} ${path}`)
  }
  mkdirSync(join(execd.root, 'closed'), { mode: 0o700 })
  assert.equal((await send('GET', '/list?path=closed')).status, 403)
  assert.equal((await send('GET', '/list?path=.')).status, 200)
})
