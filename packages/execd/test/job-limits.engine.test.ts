/** How many jobs, for how long, and that none is lost or mixed up. */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { skip, startExecd, until } from './execd.ts'
import { jobOf, listOf, outputFrames, post, startAndLeave, stateOf, statusAndCode, textOf } from './jobs.ts'

test('a finished job is kept for its ttl, then gone', { skip }, async t => {
  const execd = await startExecd(t)
  await execd.run(jobOf('short', 'true', { ttl_s: 1 }))
  await execd.run(jobOf('long', 'true'))
  assert.equal((await stateOf(execd, 'short')).state, 'exited')
  await until('it is gone', async () => (await execd.send('GET', '/jobs/short?scope=s')).status === 410)
  const again = await post(execd, jobOf('short', 'true', { ttl_s: 1 }))
  assert.deepEqual(statusAndCode(again), [410, 'gone'])
  assert.deepEqual(
    (await listOf(execd)).map(({ id }) => id),
    ['long'],
  )
})

test('EXECD_MAX_JOBS counts what runs, and not what has ended or who still reads', { skip }, async t => {
  const execd = await startExecd(t, { EXECD_MAX_JOBS: '2' })
  const wait = 'until [ -e go ]; do sleep 0.02; done'
  for (const id of ['done-1', 'done-2', 'done-3']) await execd.run(jobOf(id, 'true'))
  await startAndLeave(execd, jobOf('a', wait))
  const unread = await execd.stream({ command: 'sh', args: ['-c', `head -c 400000 /dev/zero; ${wait}`] })
  await unread.frames.next()
  unread.message.pause()
  for (const request of [jobOf('b', 'true'), { command: 'true' }, { command: 'true', stream: true }]) {
    assert.deepEqual(statusAndCode(await post(execd, request)), [429, 'limit'])
  }
  // The refused one never was: it may start later.
  appendFileSync(join(execd.root, 'go'), '')
  await until('there is room', async () => (await post(execd, jobOf('b', 'true'))).status === 200)
})

test('the oldest ends are forgotten when more than 1024 are held', { skip, timeout: 120_000 }, async t => {
  const execd = await startExecd(t)
  const ids = Array.from({ length: 1030 }, (_, n) => `job-${n}`)
  for (let from = 0; from < ids.length; from += 16) {
    // One after the other to begin with, so that it is known which ends come first.
    if (from === 0) for (const id of ids.slice(0, 16)) await execd.run(jobOf(id, ':'))
    else await Promise.all(ids.slice(from, from + 16).map(id => execd.run(jobOf(id, ':'))))
  }
  assert.equal((await listOf(execd)).length, 1024)
  for (const id of ids.slice(0, 6))
    assert.equal((await execd.send('GET', `/jobs/${id}?scope=s`)).status, 410, id)
  assert.equal((await stateOf(execd, 'job-6')).exit_code, 0)
})

test('200 jobs and 32 commands at once: none lost, none mixed up', { skip, timeout: 120_000 }, async t => {
  const execd = await startExecd(t)
  const script = (n: number) =>
    `echo ${n} >> log-${n % 7}; i=0; while [ $i -lt 20 ]; do echo "${n}:$i"; i=$((i+1)); done; sleep 1; exit ${n % 200}`
  const lines = (n: number) => Array.from({ length: 20 }, (_, i) => `${n}:${i}\n`).join('')
  const jobs = Array.from({ length: 200 }, (_, n) => n)
  const commands = Array.from({ length: 32 }, (_, n) => 1000 + n)
  const [, answers] = await Promise.all([
    Promise.all(jobs.map(n => startAndLeave(execd, jobOf(`job-${n}`, script(n))))),
    Promise.all(commands.map(n => execd.run({ command: 'sh', args: ['-c', script(n)] }))),
  ])
  answers.forEach((answer, n) => {
    assert.deepEqual([answer.exit_code, `${answer.stdout}`], [n % 200, lines(1000 + n)])
  })
  for (const n of jobs) {
    const frames = await outputFrames(execd, `job-${n}`)
    assert.deepEqual([textOf(frames), frames.at(-1)?.exit_code], [lines(n), n], `job ${n}`)
  }
  const ran = [0, 1, 2, 3, 4, 5, 6].flatMap(n =>
    readFileSync(join(execd.root, `log-${n}`), 'utf8')
      .trim()
      .split('\n'),
  )
  assert.deepEqual(
    ran.map(Number).toSorted((a, b) => a - b),
    [...jobs, ...commands],
  )
})

test('an execd whose jobs have ended and are forgotten is as small as before', { skip }, async t => {
  const execd = await startExecd(t)
  const pss = () =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${execd.pid}/smaps_rollup`, 'utf8'))?.[1])
  for (let n = 0; n < 20; n += 1) await execd.run(jobOf(`job-${n}`, 'seq 1 100000'))
  await execd.send('DELETE', '/scopes/s', undefined, { Connection: 'close' })
  await until('it is small', () => pss() <= 1500)
})
