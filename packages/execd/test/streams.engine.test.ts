/** Frames: their order and offsets, silence, slow readers. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Frame, skip, startExecd, until } from './execd.ts'

function bytesOf(frames: readonly Frame[], type: string): Buffer {
  return Buffer.concat(
    frames.filter(frame => frame.type === type).map(frame => Buffer.from(frame.data ?? '', 'base64')),
  )
}

test('start first, exit last, offsets that add up', { skip }, async t => {
  const execd = await startExecd(t)
  const script = 'i=0; while [ $i -lt 2000 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done; exit 5'
  const { frames, message } = await execd.stream({ command: 'sh', args: ['-c', script] })
  const all = await Array.fromAsync(frames)
  assert.equal(message.headers['content-type'], 'application/x-ndjson')
  assert.equal(all[0]?.type, 'start')
  assert.match(all[0]?.job ?? '', /^[A-Za-z0-9._-]{1,128}$/)
  assert.ok(Number.isInteger(all[0]?.pid))
  assert.deepEqual(all.at(-1), { type: 'exit', exit_code: 5, signal: null, timed_out: false })
  for (const type of ['stdout', 'stderr']) {
    let offset = 0
    for (const frame of all.filter(frame => frame.type === type)) {
      assert.equal(frame.offset, offset)
      offset += Buffer.from(frame.data ?? '', 'base64').length
    }
  }
  assert.equal(bytesOf(all, 'stdout').toString().split('\n').at(-2), 'out 1999')
  assert.equal(bytesOf(all, 'stderr').toString().split('\n').at(-2), 'err 1999')
})

/** A script that waits for the test between its steps, so that no step overtakes another. */
function inSteps(...steps: string[]): string {
  return steps.join('; n=$((n+1)); until [ -e go$n ]; do sleep 0.02; done; ')
}

test('what is written apart arrives apart, in the order of both streams', { skip }, async t => {
  const execd = await startExecd(t)
  const { frames } = await execd.stream({
    command: 'sh',
    args: ['-c', inSteps('echo 1', 'echo 2 >&2', 'echo 3')],
  })
  const texts: string[] = []
  for await (const frame of frames) {
    if (!frame.data) continue
    texts.push(`${frame.type} ${Buffer.from(frame.data, 'base64')}`)
    writeFileSync(join(execd.root, `go${texts.length}`), '')
  }
  assert.deepEqual(texts, ['stdout 1\n', 'stderr 2\n', 'stdout 3\n'])
})

test('bytes are split inside a character and are whole again when joined', { skip }, async t => {
  const execd = await startExecd(t)
  const script = inSteps("printf '\\303'", "printf '\\251'")
  const { frames } = await execd.stream({ command: 'sh', args: ['-c', script] })
  const all: Frame[] = []
  for await (const frame of frames) {
    all.push(frame)
    if (frame.data) writeFileSync(join(execd.root, 'go1'), '')
  }
  assert.equal(all.filter(frame => frame.type === 'stdout').length, 2)
  assert.equal(bytesOf(all, 'stdout').toString(), 'é')
})

test('a command that can not start is a stream with an end', { skip }, async t => {
  const execd = await startExecd(t)
  const { frames } = await execd.stream({ command: 'no-such-program' })
  const all = await Array.fromAsync(frames)
  assert.deepEqual(
    all.map(frame => frame.type),
    ['start', 'stderr', 'exit'],
  )
  assert.equal(all.at(-1)?.exit_code, 127)
})

test('a silent command sends heartbeats', { skip, timeout: 60_000 }, async t => {
  const execd = await startExecd(t)
  const { frames, close } = await execd.stream({ command: 'sleep', args: ['600'] })
  await frames.next()
  assert.deepEqual((await frames.next()).value, { type: 'heartbeat' })
  close()
})

test('a slow reader slows the command and not execd', { skip }, async t => {
  const execd = await startExecd(t)
  const size = 100_000_000
  const { frames, message } = await execd.stream({
    command: 'sh',
    args: ['-c', `head -c ${size} /dev/zero; echo done >&2`],
  })
  await frames.next()
  message.pause()
  const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${execd.pid}/status`, 'utf8'))?.[1])
  let last = -1
  // Both stand still when nobody reads: the pipe is full, and what execd holds has its bound.
  await until('execd waits', () => {
    const isSame = memory() === last
    last = memory()
    return isSame
  })
  assert.ok(last < 8_000, `${last} KiB`)
  let received = 0
  let end: Frame | undefined
  for await (const frame of frames) {
    if (frame.type === 'stdout') received += Buffer.from(frame.data ?? '', 'base64').length
    end = frame
  }
  assert.equal(received, size)
  assert.equal(end?.exit_code, 0)
})

test('a reader who takes a little at a time does not make execd grow', { skip, timeout: 60_000 }, async t => {
  const execd = await startExecd(t)
  const { message, close } = await execd.stream({ command: 'sh', args: ['-c', 'exec yes'] })
  const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${execd.pid}/status`, 'utf8'))?.[1])
  message.pause()
  let taken = 0
  let after1mb = 0
  let most = 0
  // Never so much that execd has nothing left to send: then what was sent must go all the same.
  while (taken < 12_000_000) {
    const bytes: unknown = message.read()
    if (Buffer.isBuffer(bytes)) taken += bytes.length
    await new Promise(resolve => setTimeout(resolve, 2))
    if (taken < 1_000_000) after1mb = memory()
    most = Math.max(most, memory())
  }
  assert.ok(most < after1mb + 2_000 && most < 8_000, `${after1mb} KiB, then ${most} KiB`)
  close()
})
