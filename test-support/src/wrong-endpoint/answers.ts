/** A run as a one-shot answer and as frames. */
import type { ServerResponse } from 'node:http'
import type { Has } from './defects.ts'
import type { Chunk, End, Output, Run } from './run.ts'
import { Refusal, sendJson } from './wire.ts'

const HEARTBEAT_MS = 10_000

export async function answerWhole(
  run: Run,
  response: ServerResponse,
  { has, maxBytes }: { has: Has; maxBytes: number },
): Promise<void> {
  const watcher = () => {
    if (run.bytes.stdout + run.bytes.stderr > maxBytes && !run.end && !has('truncates_answer'))
      void run.kill()
  }
  run.watchers.add(watcher)
  const end = await run.ended
  run.watchers.delete(watcher)
  if (run.bytes.stdout + run.bytes.stderr > maxBytes && !has('truncates_answer')) {
    throw new Refusal('too_large', `the command did run; an answer may have ${maxBytes} bytes`)
  }
  const output = (stream: Output) =>
    Buffer.concat(run.chunks.flatMap(chunk => (chunk.stream === stream ? [chunk.bytes] : [])))
      .subarray(0, maxBytes)
      .toString('base64')
  sendJson(response, 200, { ...end, stdout: output('stdout'), stderr: output('stderr') })
}

export type FrameWish = {
  has: Has
  job: string
  /** Offsets from which on output is sent. */
  from: Readonly<Record<Output, number>>
  /** Whether a slow reader slows the command. */
  slows: () => boolean
  /** After which it ends without an exit frame; null: with the command. */
  waitMs: number | null
  isOutputCall: boolean
}

/** Resolves when the answer has ended or its reader has gone. */
export async function answerFrames(run: Run, response: ServerResponse, wish: FrameWish): Promise<void> {
  const { has } = wish
  response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
  const closed = new Promise<void>(resolve => response.once('close', resolve))
  let timer: NodeJS.Timeout | undefined
  const holder = {}
  const send = (frame: object) => {
    if (!response.writableEnded) response.write(`${JSON.stringify(frame)}\n`)
    clearTimeout(timer)
    if (!has('no_heartbeat')) timer = setTimeout(() => send({ type: 'heartbeat' }), HEARTBEAT_MS)
    if (response.writableNeedDrain && wish.slows()) {
      run.holders.add(holder)
      run.regulate()
    }
  }
  response.on('drain', () => {
    run.holders.delete(holder)
    run.regulate()
  })
  if (!wish.isOutputCall) send({ type: 'start', job: wish.job, pid: run.pid })
  let seen = 0
  const unseen = () => {
    const chunks = run.chunks.slice(Math.max(0, seen - run.shifted))
    seen = run.shifted + run.chunks.length
    return wish.isOutputCall && has('orders_by_stream') ? byStream(chunks) : chunks
  }
  const next = { stdout: wish.from.stdout, stderr: wish.from.stderr }
  const end = Promise.withResolvers<End | null>()
  const pump = () => {
    for (const chunk of unseen()) {
      const bytes = chunk.bytes.subarray(Math.max(0, next[chunk.stream] - chunk.offset))
      if (bytes.length === 0) continue
      const offset = chunk.offset + chunk.bytes.length - bytes.length
      next[chunk.stream] = offset + bytes.length
      send({
        type: chunk.stream,
        offset: has('offsets_restart') ? 0 : offset,
        data: bytes.toString('base64'),
      })
    }
    if (run.end) end.resolve(run.end)
  }
  run.watchers.add(pump)
  const late = wish.waitMs === null ? undefined : setTimeout(() => end.resolve(null), wish.waitMs)
  pump()
  const result = await Promise.race([end.promise, closed.then(() => null)])
  run.watchers.delete(pump)
  run.holders.delete(holder)
  run.regulate()
  clearTimeout(late)
  if (result && !response.destroyed) {
    send({ type: 'exit', ...result })
    if (has('two_exits') && !wish.isOutputCall) send({ type: 'exit', ...result })
    if (has('exit_not_last') && !wish.isOutputCall) send({ type: 'heartbeat' })
  }
  clearTimeout(timer)
  response.end()
  await closed
}

function byStream(chunks: readonly Chunk[]): readonly Chunk[] {
  return [...chunks].sort((a, b) => Number(a.stream === 'stderr') - Number(b.stream === 'stderr'))
}
