/**
 * `npm run bench -- serve`: how soon a prompt is acknowledged, how long a piece of the model's takes to its viewers, what
 * idle sessions weigh, and how soon one with a thousand messages is back.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newEntryId, newSessionId, type RecordBody, systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore } from '@beige/sessions'
import type { Bench, BenchContext, Row } from '../bench.ts'
import { nowUs } from '../gateway/shared-clock.ts'
import { memoryOf } from '../process-memory.ts'
import { quantile } from '../quantile.ts'
import { type SeenFrame, type Server, startServer, viewer } from './serve-process.ts'

const ACKS = 200
const VIEWERS = [1, 50, 300] as const
const MAX_VIEWERS = 64 // of one session; more are spread over several
const IDLE = [1000, 10_000] as const
const TURNS = 10
const REATTACHES = 20
const SETTLE_MS = 3000

export const serveBench: Bench = {
  name: 'serve',
  about: 'agent serve: acknowledgements, frames to viewers, idle sessions, coming back',
  async run(context) {
    const rows: Row[] = []
    for (const part of [acks, frames, idle, reattach]) rows.push(...(await part(context)))
    return rows
  },
}

async function withServer<T>(
  { root }: BenchContext,
  provider: { pieces: number; everyMs: number },
  work: (server: Server) => Promise<T>,
): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), 'beige-bench-'))
  mkdirSync(home, { recursive: true })
  try {
    await using server = await startServer(root, home, provider)
    return await work(server)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const acks = (context: BenchContext): Promise<Row[]> =>
  withServer(context, { pieces: 1, everyMs: 1 }, async server => {
    const times: number[] = []
    const waiting = { ack: Promise.withResolvers<void>(), end: Promise.withResolvers<void>() }
    const socket = await viewer(server, 's_ack', frame => {
      if (frame.type === 'ack') waiting.ack.resolve()
      if (frame.type === 'response') waiting.end.resolve()
    })
    for (let n = 0; n < ACKS + 20; n++) {
      waiting.ack = Promise.withResolvers()
      waiting.end = Promise.withResolvers()
      const sentAt = performance.now()
      socket.send(JSON.stringify({ type: 'prompt', message: 'go' }))
      await waiting.ack.promise
      if (n >= 20) times.push(performance.now() - sentAt)
      await waiting.end.promise
    }
    socket.close()
    return [{ name: 'ack', ...latency(times) }]
  })

async function frames(context: BenchContext): Promise<Row[]> {
  const rows: Row[] = []
  for (const count of VIEWERS) {
    rows.push(
      await withServer(context, { pieces: 60, everyMs: 20 }, async server => {
        const times: number[] = []
        let left = 0
        const over = Promise.withResolvers<void>()
        const heard = (frame: SeenFrame) => {
          const at = writtenAt(frame)
          if (at !== null) times.push((nowUs() - at) / 1000)
          if (frame.type === 'response' && --left === 0) over.resolve()
        }
        const sockets: WebSocket[] = []
        for (let n = 0; n < count; n++)
          sockets.push(await viewer(server, `s_${Math.floor(n / MAX_VIEWERS)}`, heard))
        const drivers = sockets.filter((_, n) => n % MAX_VIEWERS === 0)
        left = count
        for (const driver of drivers) driver.send(JSON.stringify({ type: 'prompt', message: 'go' }))
        await over.promise
        for (const socket of sockets) socket.close()
        return { name: `frames-${count}`, ...latency(times) }
      }),
    )
    context.say(`frames to ${count} viewers`)
  }
  return rows
}

/** Microseconds, where the frame brings a piece of the model's. */
function writtenAt({ event }: SeenFrame): number | null {
  if (typeof event !== 'object' || event === null || !('text' in event)) return null
  if (!('type' in event) || event.type !== 'text_delta') return null
  const at = /^@(\d+);/.exec(String(event.text))?.[1]
  return at === undefined ? null : Number(at)
}

async function idle(context: BenchContext): Promise<Row[]> {
  const rows: Row[] = []
  for (const count of IDLE) {
    rows.push(
      await withServer(context, { pieces: 1, everyMs: 1 }, async server => {
        const ids = await madeSessions(server.sessionDir, count, TURNS)
        const warm = await viewer(server, ids[0] ?? '', () => {})
        await systemClock.sleep(SETTLE_MS)
        const before = memoryOf([server.pid], true).pssMb
        const sockets = [warm]
        for (const id of ids.slice(1)) sockets.push(await attached(server, id))
        await systemClock.sleep(SETTLE_MS)
        const after = memoryOf([server.pid], true).pssMb
        for (const socket of sockets) socket.close()
        return { name: `idle-${count}`, kb_each: rounded(((after - before) * 1024) / (count - 1)) }
      }),
    )
    context.say(`${count} idle sessions`)
  }
  return rows
}

async function attached(server: Server, id: string): Promise<WebSocket> {
  const there = Promise.withResolvers<void>()
  const socket = await viewer(server, id, frame => frame.type === 'catchup' && there.resolve())
  await there.promise
  return socket
}

const reattach = (context: BenchContext): Promise<Row[]> =>
  withServer(context, { pieces: 1, everyMs: 1 }, async server => {
    const [id = ''] = await madeSessions(server.sessionDir, 1, 500)
    const keep = await attached(server, id)
    const times: number[] = []
    for (let n = 0; n < REATTACHES; n++) {
      const sentAt = performance.now()
      const socket = await attached(server, id)
      times.push(performance.now() - sentAt)
      socket.close()
    }
    keep.close()
    return [{ name: 'reattach-1000', ms: rounded(quantile(times, 0.5)) }]
  })

/** Sessions with so many turns of history, as their store keeps them. */
async function madeSessions(root: string, count: number, turns: number): Promise<string[]> {
  const store = createFilesStore({ root, clock: systemClock, random: systemRandom })
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const id = newSessionId(systemClock, systemRandom)
    const log = await store.create({ id, cwd: '/', model: 'openai/demo' }, ...history(turns))
    await log.close()
    ids.push(id)
  }
  await store.close()
  return ids
}

function history(turns: number): RecordBody[] {
  let parent: string | null = null
  return Array.from({ length: turns }, (_, n): RecordBody[] => {
    const [prompt, answer] = [newEntryId(systemClock, systemRandom), newEntryId(systemClock, systemRandom)]
    const above = parent
    parent = answer
    const text = `This is what was said in turn ${n}. `.repeat(8)
    const content = [{ type: 'text' as const, text }]
    return [
      { type: 'prompt', id: prompt, parent_id: above, message: content, origin: { kind: 'local' } },
      { type: 'message', id: answer, parent_id: prompt, role: 'assistant', content, stop_reason: 'end_turn' },
      { type: 'run_end', run_id: prompt, outcome: 'done', steps: 1 },
    ]
  }).flat()
}

function latency(times: readonly number[]) {
  return { p50_ms: rounded(quantile(times, 0.5)), p99_ms: rounded(quantile(times, 0.99)) }
}

const rounded = (value: number) => Math.round(value * 100) / 100
