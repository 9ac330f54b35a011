/**
 * Notifications of what became of runs. They are a fold over the log: one start and one end a run, with fixed ids, so any
 * owner sends what is missing and anybody can fetch them by cursor. Nothing here ever delays a turn.
 */
import type { Session } from '@beige/harness'
import { asEntryId, type Clock, type EntryId, type SessionRecord } from '@beige/protocol'
import { runSummary } from './run-summary.ts'

const LIFECYCLE_KIND = 'beige.lifecycle'
const TRY_MS = 2000
const FIRST_BACKOFF_MS = 1000
const MAX_BACKOFF_MS = 60_000
const GIVE_UP_MS = 900_000
const QUEUE_EVENTS = 256
const EXIT_MS = 500
const MAX_SUMMARY_CHARS = 4000
const GONE = 410

/** `n` is the number of the record that it tells of: the cursor to fetch by. */
export type LifecycleEvent = {
  type: 'started' | 'succeeded' | 'failed' | 'aborted' | 'session_named' | 'progress'
  event_id: string
  n: number
  session_id: string
  run_id?: string
  ts: number
  [more: string]: unknown
}

/** Where they go. Resolves with the HTTP status; rejects where nobody could be reached. */
export type LifecycleSink = {
  send(event: LifecycleEvent, signal: AbortSignal): Promise<number>
  /** 0: no `progress`. */
  heartbeatMs: number
}

/** All of them, oldest first. */
export function lifecycleEvents(session: Session): LifecycleEvent[] {
  const { log } = session
  const runs = session.state().runs
  let isNamed = false
  return log.records.flatMap((record): LifecycleEvent[] => {
    const common = { n: record.seq, session_id: log.id, ts: record.at }
    if (record.type === 'prompt' && runs.has(asEntryId(record.id))) {
      const resumed = record.epoch !== log.epoch
      return [{ type: 'started', event_id: `${record.id}.started`, ...common, run_id: record.id, resumed }]
    }
    if (record.type === 'run_end') {
      return [
        { ...endOf(session, record), event_id: `${record.run_id}.end`, ...common, run_id: record.run_id },
      ]
    }
    if (record.type !== 'setting' || record.name !== 'title' || isNamed) return []
    isNamed = true
    return [{ type: 'session_named', event_id: `${log.id}.named`, ...common, title: record.value }]
  })
}

function endOf(session: Session, { outcome, error, steps, run_id }: SessionRecord & { type: 'run_end' }) {
  if (outcome === 'aborted') return { type: 'aborted' } as const
  if (outcome === 'failed') return { type: 'failed', error: error ?? 'failed' } as const
  const text = runSummary(session.state(), asEntryId(run_id))?.text ?? ''
  return {
    ...({ type: 'succeeded', steps, refused: outcome === 'refused' } as const),
    summary: [...text].slice(0, MAX_SUMMARY_CHARS).join(''),
  }
}

export interface Lifecycle {
  /** Something that may have to be told is in the log. */
  changed(): void
  /** A run goes on: tells its progress until `over`. */
  progress(runId: EntryId, now: () => { steps: number; tools: number }, over: AbortSignal): void
  /** Spends a moment on what is left, while the session is still owned. */
  close(): Promise<void>
}

/** `sink` undefined: they are only in the log. */
export function createLifecycle(session: Session, sink: LifecycleSink | undefined, clock: Clock): Lifecycle {
  if (!sink) return { changed: () => {}, progress: () => {}, close: async () => {} }
  const stopping = new AbortController()
  const { signal } = stopping
  const given = new Set<string>() // up on, in this process
  let pumping: Promise<void> | null = null

  /** What is due, oldest first. Runs from before anybody asked to be told are not. */
  function due(): LifecycleEvent[] {
    const delivered = new Set<string>()
    const stopped = new Set<string>()
    let from: number | null = null
    for (const record of session.log.records) {
      if (record.type !== 'custom' || record.kind !== LIFECYCLE_KIND) continue
      const { data } = record
      if (typeof data !== 'object' || data === null) continue
      if ('from' in data && typeof data.from === 'number') from ??= data.from
      if ('event_id' in data) delivered.add(String(data.event_id))
      if ('stopped' in data) stopped.add(String(data.stopped))
    }
    return lifecycleEvents(session)
      .filter(event => event.n > (from ?? 0) && !delivered.has(event.event_id) && !given.has(event.event_id))
      .filter(event => !stopped.has(event.run_id ?? ''))
      .slice(-QUEUE_EVENTS)
  }

  const note = (data: Record<string, unknown>) =>
    session.append({ type: 'custom', kind: LIFECYCLE_KIND, data })

  async function begin(): Promise<void> {
    const isKnown = session.log.records.some(one => one.type === 'custom' && one.kind === LIFECYCLE_KIND)
    const open = session.state().openRun
    if (!isKnown) await note({ from: open ? open.promptSeq - 1 : (session.log.records.at(-1)?.seq ?? 0) })
  }

  async function deliver(event: LifecycleEvent): Promise<void> {
    const until = clock.monotonic() + GIVE_UP_MS
    for (let backoff = FIRST_BACKOFF_MS; ; backoff = Math.min(backoff * 2, MAX_BACKOFF_MS)) {
      const status = await sink
        ?.send(event, AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]))
        .catch(() => 0)
      if (status === GONE) return void (await note({ stopped: event.run_id ?? event.event_id }))
      if (status !== undefined && status >= 200 && status < 300)
        return void (await note({ event_id: event.event_id }))
      if (clock.monotonic() + backoff > until) return void given.add(event.event_id)
      await clock.sleep(backoff, signal)
    }
  }

  async function pump(): Promise<void> {
    for (let next = due()[0]; next && !signal.aborted; next = due()[0]) await deliver(next)
  }

  const ready = begin()
  ready.catch(() => {}) // what can not be noted is not told; the log says why to others

  function changed(): void {
    pumping ??= ready
      .then(pump)
      .catch(() => {})
      .finally(() => {
        pumping = null
        if (!signal.aborted && due().length > 0) changed()
      })
  }

  changed()
  return {
    changed,
    progress: (runId, now, over) => {
      if (sink.heartbeatMs === 0) return
      const waits = AbortSignal.any([signal, over])
      let told = ''
      let n = 0
      const beat = async (): Promise<void> => {
        for (;;) {
          await clock.sleep(sink.heartbeatMs, waits)
          const state = now()
          if (JSON.stringify(state) === told) continue
          told = JSON.stringify(state)
          const event_id = `${runId}.progress.${++n}`
          const common = { n: 0, session_id: session.log.id, run_id: runId, ts: clock.now() }
          await sink
            .send(
              { type: 'progress', event_id, ...common, ...state },
              AbortSignal.any([waits, AbortSignal.timeout(TRY_MS)]),
            )
            .catch(() => 0)
        }
      }
      beat().catch(() => {}) // ends with the run
    },
    close: async () => {
      const over = new AbortController()
      await Promise.race([pumping, clock.sleep(EXIT_MS, over.signal)]).finally(() => over.abort())
      stopping.abort(new DOMException('the session is released', 'AbortError'))
      await pumping
    },
  }
}
