/**
 * Holds what the outside of a session was told against what its log and its effects say afterwards. Knows nothing of stores,
 * leases or turns; the simulator and the torture of real processes use the same.
 */
import type { SessionRecord } from '@beige/protocol'
import { EFFECT_ASKED, EFFECT_TOLD, KEY_IN_PROMPT, type LedgerLine, type Told } from './told.ts'

export const VIOLATIONS = ['lost', 'duplicated', 'reordered', 'forked', 'phantom', 'repeated'] as const
export type Violation = { kind: (typeof VIOLATIONS)[number]; session: string; says: string }

export type SessionEvidence = {
  id: string
  told: readonly Told[]
  /** Of its log, read when all is over. */
  records: readonly SessionRecord[]
  /** Of all sessions. */
  ledger: readonly LedgerLine[]
}

type Say = (kind: Violation['kind'], says: string) => void

export function checkSession(evidence: SessionEvidence): Violation[] {
  const violations: Violation[] = []
  const say: Say = (kind, says) => violations.push({ kind, session: evidence.id, says })
  checkLog(evidence, say)
  checkPrompts(evidence, say)
  checkCommitted(evidence, say)
  checkOrder(evidence, say)
  checkEffects(evidence, say)
  return violations
}

/** The log by itself: numbers without a gap that nobody told of, epochs that only grow, every id once. */
function checkLog({ records }: SessionEvidence, say: Say): void {
  const missing = new Set(records.flatMap(one => (one.type === 'damage' ? (one.seqs ?? []) : [])))
  const ids = new Set<string>()
  let seq = 0
  let epoch = 0
  for (const record of records) {
    for (let lost = seq + 1; lost < record.seq; lost++) {
      if (!missing.has(lost)) say('lost', `record ${lost} is missing without a word`)
    }
    if (record.seq <= seq) say('duplicated', `the number ${record.seq} comes after ${seq}`)
    if (record.epoch < epoch)
      say('forked', `record ${record.seq} is of epoch ${record.epoch}, after ${epoch}`)
    seq = record.seq
    epoch = record.epoch
    for (const id of idsOf(record)) {
      if (ids.has(id)) say('duplicated', `${id} is there twice, again at ${record.seq}`)
      ids.add(id)
    }
    if (record.type === 'damage' && FOREIGN.has(record.reason ?? '')) {
      say('forked', `bytes ${record.reason} in ${record.segment} at ${record.offset}`)
    }
  }
}

const FOREIGN = new Set(['of a fenced epoch', 'out of order'])

function idsOf(record: SessionRecord): string[] {
  switch (record.type) {
    case 'prompt':
      return [`entry ${record.id}`, ...(record.idempotency_key ? [`key ${record.idempotency_key}`] : [])]
    case 'message':
      return [
        `entry ${record.id}`,
        ...record.content.flatMap(block => (block.type === 'tool_call' ? [`call ${block.id}`] : [])),
      ]
    case 'tool_finished':
      return [`result of ${record.call_id}`]
    case 'run_end':
      return [`end of ${record.run_id}`]
    default:
      return []
  }
}

/** What was acknowledged is there, what ended has that end, and nothing is there that nobody sent. */
function checkPrompts({ told, records }: SessionEvidence, say: Say): void {
  const prompts = new Map(records.flatMap(one => (one.type === 'prompt' ? [[one.id, one] as const] : [])))
  const ends = new Map(records.flatMap(one => (one.type === 'run_end' ? [[one.run_id, one] as const] : [])))
  const sent = new Set(told.flatMap(one => (one.kind === 'sent' ? [one.key] : [])))
  const runs = new Map<string, string>()
  for (const one of told) {
    if (one.kind !== 'acked' && one.kind !== 'ended') continue
    const { key, runId } = one
    const other = runs.get(key)
    if (other !== undefined && other !== runId)
      say('duplicated', `${key} is said to be run ${other} and ${runId}`)
    runs.set(key, runId)
    if (prompts.get(runId)?.idempotency_key !== key) say('lost', `${key} was ${one.kind} as ${runId}`)
    if (one.kind !== 'ended') continue
    const end = ends.get(runId)
    if (!end) say('lost', `the end of ${key} (${one.outcome}), told to its client`)
    else if (end.outcome !== one.outcome)
      say('forked', `${key} was told to be ${one.outcome}, the log says ${end.outcome}`)
    else if (one.outcome === 'done' && one.text !== `done ${key}`)
      say('phantom', `the answer to ${key} was ${JSON.stringify(one.text)}`)
  }
  for (const { id, idempotency_key: key, message } of prompts.values()) {
    const [block] = message
    const [, named] = KEY_IN_PROMPT.exec(block?.type === 'text' ? block.text : '') ?? []
    if (key === undefined || named !== key || !sent.has(key))
      say('phantom', `prompt ${id} (${key}) was never sent`)
  }
  for (const runId of ends.keys())
    if (!prompts.has(runId)) say('phantom', `an end of a run ${runId} that is not`)
}

/** A record that was said to be durable under a number is there under that number. */
function checkCommitted({ told, records }: SessionEvidence, say: Say): void {
  const seqs = new Map<string, number>()
  for (const record of records) {
    if (record.type === 'prompt' || record.type === 'message') seqs.set(record.id, record.seq)
    if (record.type === 'tool_finished') seqs.set(record.call_id, record.seq)
  }
  const said = new Map<number, string>()
  for (const one of told) {
    if (one.kind !== 'committed') continue
    const other = said.get(one.seq)
    if (other !== undefined && other !== one.id)
      say('forked', `${other} and ${one.id} were both told as ${one.seq}`)
    said.set(one.seq, one.id)
    const seq = seqs.get(one.id)
    if (seq === undefined) say('lost', `${one.role} ${one.id}, told as ${one.seq} by epoch ${one.epoch}`)
    else if (seq !== one.seq) say('reordered', `${one.id} was told as ${one.seq} and is ${seq}`)
  }
}

/** What was acknowledged before another prompt was sent comes before it; a model is shown the prompts as the log has them. */
function checkOrder({ told, records }: SessionEvidence, say: Say): void {
  const places = new Map<string, number>()
  for (const one of records) {
    if (one.type === 'prompt' && one.idempotency_key !== undefined) places.set(one.idempotency_key, one.seq)
  }
  let newestAcked = 0
  const floor = new Map<string, number>()
  for (const one of told.toSorted((a, b) => a.atMs - b.atMs)) {
    if (one.kind === 'sent' && !floor.has(one.key)) floor.set(one.key, newestAcked)
    if (one.kind !== 'acked') continue
    const place = places.get(one.key)
    if (place === undefined) continue // told as lost
    if (place <= (floor.get(one.key) ?? 0))
      say('reordered', `${one.key} is before what was acknowledged before it`)
    newestAcked = Math.max(newestAcked, place)
  }
  const keys = [...places].toSorted((a, b) => a[1] - b[1]).map(([key]) => key)
  for (const one of told) {
    if (one.kind !== 'asked') continue
    if (one.keys.some((key, index) => key !== keys[index])) {
      say('forked', `a model was shown ${one.keys.join(' ')}, the log has ${keys.join(' ')}`)
      return
    }
  }
}

/** No effect without a call that says so first, none twice, and none told that there was not. */
function checkEffects({ id, told, records, ledger }: SessionEvidence, say: Say): void {
  const asked = new Set<string>()
  const outcomes = new Map<string, string>()
  for (const record of records) {
    if (record.type === 'tool_started') {
      const [, token] = EFFECT_ASKED.exec(JSON.stringify(record.input)) ?? []
      if (token !== undefined) asked.add(token)
    }
    if (record.type === 'tool_finished') {
      outcomes.set(record.call_id, record.outcome)
      if (isConflict(record.details)) say('duplicated', `the id of call ${record.call_id} was another's`)
    }
  }
  const own = ledger.filter(line => line.scope === id)
  const lines = new Map(own.map(line => [line.number, line]))
  const seen = new Set<string>()
  for (const { token, number } of own) {
    if (seen.has(token)) say('repeated', `effect ${token}, again as line ${number}`)
    seen.add(token)
    if (!asked.has(token)) say('phantom', `effect ${token} without a durable call`)
  }
  const tellers = new Map<number, string>()
  for (const one of told) {
    if (one.kind !== 'tool') continue
    const { callId, outcome, text, name } = one
    if (outcomes.get(callId) !== outcome) {
      say('lost', `call ${callId} was told as ${outcome}, the log says ${outcomes.get(callId) ?? 'nothing'}`)
    }
    const [, number, token] = EFFECT_TOLD.exec(text) ?? []
    const isWhole = outcome === 'done' && !one.isError && (name === 'bash' || name === 'note')
    if (number === undefined) {
      if (isWhole && !text.includes('[running as job'))
        say('lost', `the effect of ${callId}, which was told as done`)
      continue
    }
    if (lines.get(Number(number))?.token !== token)
      say('phantom', `call ${callId} was told an effect ${number}`)
    const other = tellers.get(Number(number)) ?? callId
    if (other !== callId && name !== 'bash_job') say('phantom', `calls ${other} and ${callId} had one effect`)
    if (name !== 'bash_job') tellers.set(Number(number), callId)
  }
}

function isConflict(details: unknown): boolean {
  return typeof details === 'object' && details !== null && 'cause' in details && details.cause === 'conflict'
}
