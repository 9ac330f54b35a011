/** A job's output: by offset, in order, live, more than memory holds, and read by nobody. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Execd, type Frame, skip, startExecd, until } from './execd.ts'
import {
  bytesOf,
  jobOf,
  output,
  outputFrames,
  readUpTo,
  startAndLeave,
  stateOf,
  textOf,
  untilExited,
} from './jobs.ts'

const MIB = 1024 * 1024
/** Different in every line, so that a wrong offset shows. */
const numbers = (count: number) => `seq 1 ${count}`
const numbersText = (count: number) =>
  `${Array.from({ length: count }, (_, index) => index + 1).join('\n')}\n`

function rssKb(execd: Execd): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${execd.pid}/status`, 'utf8'))?.[1])
}

function peakKb(execd: Execd): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${execd.pid}/status`, 'utf8'))?.[1])
}

test('output by the offsets of both streams', { skip }, async t => {
  const execd = await startExecd(t)
  await startAndLeave(execd, jobOf('a', `${numbers(20_000)}; ${numbers(30_000)} >&2`))
  await untilExited(execd, 'a')
  const [stdout, stderr] = [numbersText(20_000), numbersText(30_000)]
  for (const [from, errorFrom] of [
    [0, 0],
    [1, 0],
    [0, 70_000],
    [50_000, 100_001],
    [stdout.length - 1, stderr.length],
    [stdout.length, stderr.length - 1],
    [stdout.length, stderr.length],
  ] as const) {
    const frames = await outputFrames(execd, 'a', `&stdout=${from}&stderr=${errorFrom}`)
    assert.equal(textOf(frames), stdout.slice(from), `stdout from ${from}`)
    assert.equal(textOf(frames, 'stderr'), stderr.slice(errorFrom), `stderr from ${errorFrom}`)
    assert.equal(frames.find(frame => frame.type === 'stdout')?.offset ?? from, from)
    assert.deepEqual([frames[0]?.type, frames.at(-1)?.type], ['start', 'exit'])
  }
})

test('the order of two streams is kept for a reader who comes later', { skip }, async t => {
  const execd = await startExecd(t)
  const steps = [1, 2, 3, 4].map(
    n => `echo ${n} ${n % 2 ? '' : '>&2'}; until [ -e go${n} ]; do sleep 0.02; done`,
  )
  const { frames } = await execd.stream(jobOf('a', steps.join('; ')))
  let seen = 0
  for await (const frame of frames) if (frame.data) writeFileSync(join(execd.root, `go${++seen}`), '')
  const later = (await outputFrames(execd, 'a')).filter(frame => frame.data)
  assert.deepEqual(
    later.map(frame => `${frame.type} ${Buffer.from(frame.data ?? '', 'base64')}`),
    ['stdout 1\n', 'stderr 2\n', 'stdout 3\n', 'stderr 4\n'],
  )
})

test('live until the end, or for wait_ms: then without an end', { skip }, async t => {
  const execd = await startExecd(t)
  await startAndLeave(execd, jobOf('a', 'echo one; until [ -e go ]; do sleep 0.02; done; echo two'))
  await until('it has said something', async () => (await stateOf(execd, 'a')).stdout_bytes > 0)
  for (const wait of [0, 50]) {
    const now = await outputFrames(execd, 'a', `&wait_ms=${wait}`)
    assert.deepEqual(
      now.map(frame => frame.type),
      ['start', 'stdout'],
    )
  }
  const live = await output(execd, 'a', '&wait_ms=60000')
  await readUpTo(live.frames, 'stdout')
  writeFileSync(join(execd.root, 'go'), '')
  const rest = await Array.fromAsync(live.frames)
  assert.deepEqual([textOf(rest), rest.at(-1)?.exit_code], ['two\n', 0])
})

test('more than memory holds comes back whole from disk', { skip, timeout: 120_000 }, async t => {
  const execd = await startExecd(t)
  const script = 'for i in 1 2 3; do seq 1 2000000; seq 1 100000 >&2; done'
  await startAndLeave(execd, jobOf('a', script))
  await until('it has ended', async () => (await stateOf(execd, 'a')).state === 'exited')
  const state = await stateOf(execd, 'a')
  assert.equal(state.dropped_bytes, 0)
  const [stdout, stderr] = [createHash('sha256'), createHash('sha256')]
  let [size, next] = [0, 0]
  for await (const frame of (await output(execd, 'a')).frames) {
    const bytes = Buffer.from(frame.data ?? '', 'base64')
    if (frame.type === 'stdout') {
      assert.equal(frame.offset, next)
      next += bytes.length
      stdout.update(bytes)
      size += bytes.length
    } else if (frame.type === 'stderr') {
      stderr.update(bytes)
    }
  }
  const hashOf = (text: string) => createHash('sha256').update(text.repeat(3)).digest('hex')
  assert.equal(size, state.stdout_bytes)
  assert.ok(size > 16 * MIB, `${size}`)
  assert.equal(stdout.digest('hex'), hashOf(numbersText(2_000_000)))
  assert.equal(stderr.digest('hex'), hashOf(numbersText(100_000)))
})

test('what is over EXECD_JOB_OUTPUT_BYTES is dropped from the front and counted', { skip }, async t => {
  const execd = await startExecd(t, { EXECD_JOB_OUTPUT_BYTES: `${MIB}` })
  const total = 20_000_000
  await startAndLeave(execd, jobOf('a', `head -c ${total} /dev/zero; printf end`))
  const state = await untilExited(execd, 'a')
  assert.equal(state.stdout_bytes, total + 3)
  assert.ok(state.dropped_bytes > total - 12 * MIB && state.dropped_bytes < total - 8 * MIB)
  const frames = await outputFrames(execd, 'a')
  const first = frames.find(frame => frame.type === 'stdout')
  assert.equal(first?.offset, state.dropped_bytes)
  assert.equal(bytesOf(frames, 'stdout').length, total + 3 - state.dropped_bytes)
  assert.equal(bytesOf(frames, 'stdout').subarray(-3).toString(), 'end')
  const answer = await execd.send(
    'POST',
    '/',
    JSON.stringify(jobOf('a', `head -c ${total} /dev/zero; printf end`)),
  )
  assert.equal(answer.status, 413)
})

test('one line of 10 MB, and every byte there is, come as they are', { skip }, async t => {
  const execd = await startExecd(t)
  const size = 10_000_000
  const script = `head -c ${size} /dev/zero | tr '\\0' x; echo; for n in 0 1 2 3; do for m in 0 1 2 3 4 5 6 7; do for l in 0 1 2 3 4 5 6 7; do printf "\\\\$n$m$l"; done; done; done >&2`
  await startAndLeave(execd, jobOf('a', script))
  await untilExited(execd, 'a')
  const frames = await outputFrames(execd, 'a')
  const of = (type: string) =>
    Buffer.concat(frames.filter(f => f.type === type).map(f => Buffer.from(f.data ?? '', 'base64')))
  assert.ok(of('stdout').equals(Buffer.from(`${'x'.repeat(size)}\n`)))
  assert.deepEqual(
    [...of('stderr')],
    Array.from({ length: 256 }, (_, byte) => byte),
  )
  assert.ok(peakKb(execd) < 16_384, `${peakKb(execd)} KiB`)
})

test('2 GB of output keeps execd under 16 MB', { skip, timeout: 180_000 }, async t => {
  const execd = await startExecd(t)
  const total = 2_000_000_000
  await startAndLeave(execd, jobOf('a', `head -c ${total} /dev/zero`))
  await until('two hundred MB are through', async () => (await stateOf(execd, 'a')).stdout_bytes > 2e8)
  await execd.run({ command: 'true' }) // and it still answers
  while ((await outputFrames(execd, 'a', `&stdout=${total}&wait_ms=20000`)).at(-1)?.type !== 'exit');
  const state = await stateOf(execd, 'a')
  assert.equal(state.stdout_bytes, total)
  assert.ok(peakKb(execd) < 16_384, `${peakKb(execd)} KiB`)
  assert.equal((await execd.send('DELETE', '/scopes/s')).status, 200)
})

test('a kept job is not slowed by its reader, who goes on from what is held', { skip }, async t => {
  const execd = await startExecd(t)
  const total = 50_000_000
  const { frames, message } = await execd.stream(jobOf('a', `head -c ${total} /dev/zero`))
  await frames.next()
  message.pause()
  const state = await untilExited(execd, 'a')
  assert.deepEqual([state.stdout_bytes, state.dropped_bytes], [total, 0])
  let size = 0
  let end: Frame | undefined
  for await (const frame of frames) {
    if (frame.data) size += Buffer.from(frame.data, 'base64').length
    end = frame
  }
  assert.deepEqual([size, end?.type], [total, 'exit'])
})

test('a reader of 1 KB a second leaves memory flat', { skip }, async t => {
  const execd = await startExecd(t)
  const { frames, message } = await execd.stream(jobOf('a', 'exec yes', { keep: false }))
  await frames.next()
  message.pause()
  let last = -1
  await until('it waits for its reader', async () => {
    const { stdout_bytes } = await stateOf(execd, 'a')
    const isSame = stdout_bytes === last
    last = stdout_bytes
    return isSame
  })
  const before = rssKb(execd)
  for (let kb = 0; kb < 5; kb += 1) {
    message.read(1024)
    await execd.run({ command: 'true' })
  }
  assert.ok(rssKb(execd) - before < 512 && rssKb(execd) < 8_000, `${before} -> ${rssKb(execd)} KiB`)
  await execd.send('DELETE', '/jobs/a?scope=s')
})

test('a stream that becomes a job while its reader is behind loses nothing that is held', {
  skip,
}, async t => {
  const execd = await startExecd(t)
  const total = 9_000_000
  const { frames, message, close } = await execd.stream({ command: 'sh', args: ['-c', `seq 1 ${total}`] })
  const start = (await frames.next()).value
  const path = `/jobs/${start?.job}`
  let received = ''
  for (let n = 0; n < 5; n += 1) {
    const { value } = await frames.next()
    received += Buffer.from(value?.data ?? '', 'base64')
  }
  message.pause()
  await execd.send('PATCH', path, '{"keep":true}')
  close()
  await untilExited(execd, `${start?.job}`, '')
  const { frames: rest } = await execd.follow('GET', `${path}/output?stdout=${received.length}`)
  const hash = createHash('sha256').update(received)
  for await (const frame of rest) if (frame.data) hash.update(Buffer.from(frame.data, 'base64'))
  const expected = createHash('sha256')
  for (let from = 1; from <= total; from += 1_000_000) {
    expected.update(`${Array.from({ length: 1_000_000 }, (_, index) => from + index).join('\n')}\n`)
  }
  assert.equal(hash.digest('hex'), expected.digest('hex'))
})
