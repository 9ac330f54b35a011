/** Follows the records of a log by `seq` and `prev`, and gathers what is missing or does not belong there. */
import { hash } from 'node:crypto'
import type { DamageBody, SessionRecord } from '@beige/protocol'
import { FIRST_PREV, MIN_RECORD_BYTES } from './record-line.ts'
import type { Damage } from './store.ts'

/** `bytes` of what could not be read, with its newline; empty where bytes are missing. */
export type FoundDamage = Damage & { bytes: Uint8Array }

export interface Chain {
  /** `next`: the record right behind it, where there is one. */
  record(record: SessionRecord, hash: string, place: FoundDamage, next: SessionRecord | null): void
  /** `lines`: how many records it may have been, should nothing come behind it. */
  damaged(damage: FoundDamage, lines?: number): void
  /** A header says how far the history went before it; what did not come is missing. */
  reached(seq: number, prev: string, place: FoundDamage): void
  /** A base follows, which has everything so far in it. */
  restart(): void
  end(): {
    records: SessionRecord[]
    nextSeq: number
    prev: string
    /** What no `damage` record tells yet, and what one does. */
    untold: FoundDamage[]
    told: FoundDamage[]
  }
}

const MAX_MISSING = 100_000 // a record that claims that more are missing is itself the damage

const NO_BYTES = new Uint8Array(0)

export function createChain(): Chain {
  let records: SessionRecord[] = []
  let damages: FoundDamage[] = []
  let lastSeq = 0
  let prev = FIRST_PREV
  let lostLines = 0
  /** First damage since the last record; what is missing then was there. */
  let open: number | null = null

  function damaged(damage: FoundDamage, lines = 1): void {
    const before = damages.at(-1)
    const isNeighbour =
      before?.segment === damage.segment &&
      before.offset + before.length === damage.offset &&
      before.reason === damage.reason
    if (isNeighbour && open !== null) damages[damages.length - 1] = joined(before, damage)
    else {
      open ??= damages.length
      damages.push(damage)
    }
    if (damage.length >= MIN_RECORD_BYTES) lostLines += lines
  }

  function missing(until: number, place: FoundDamage): void {
    if (open === null) damaged({ ...place, length: 0, bytes: NO_BYTES, reason: 'missing' }, 0)
    setSeqs(damages, open, range(lastSeq + 1, until))
  }

  function movedTo(seq: number, hash: string): void {
    lastSeq = seq
    prev = hash
    open = null
    lostLines = 0
  }

  function isForeign(record: SessionRecord, next: SessionRecord | null): boolean {
    const expected = lastSeq + 1
    if (record.epoch < (records.at(-1)?.epoch ?? 0)) return true
    if (record.seq < expected || record.seq - expected > MAX_MISSING) return true
    if (record.seq === expected) return record.prev !== prev
    // Numbers are left out although nothing is damaged, and the next record goes on as if this one were not there.
    return open === null && next?.seq === expected && next.prev === prev
  }

  return {
    damaged,
    record(record, lineHash, place, next) {
      if (isForeign(record, next)) return damaged(place, 0)
      if (record.seq > lastSeq + 1) missing(record.seq, place)
      records.push(record)
      movedTo(record.seq, lineHash)
    },
    reached(seq, hash, place) {
      if (seq <= lastSeq || seq - lastSeq > MAX_MISSING) return
      missing(seq + 1, place)
      movedTo(seq, hash)
    },
    restart() {
      records = []
      damages = []
      movedTo(0, FIRST_PREV)
    },
    end() {
      setSeqs(damages, open, range(lastSeq + 1, lastSeq + 1 + lostLines))
      const tellers = records.flatMap(record => (record.type === 'damage' ? [record] : []))
      const isTold = (damage: FoundDamage) => tellers.some(one => tells(one, damage))
      return {
        records,
        nextSeq: lastSeq + 1 + lostLines,
        prev,
        untold: damages.filter(damage => !isTold(damage)),
        told: damages.filter(isTold),
      }
    },
  }
}

/** Identifies damaged bytes wherever they were copied to: their newline is left out, a torn tail has none. */
export function damageHash(bytes: Uint8Array): string {
  const end = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length
  return hash('sha256', bytes.subarray(0, end), 'hex').slice(0, 32)
}

function tells(told: DamageBody, found: FoundDamage): boolean {
  if (told.segment === found.segment && told.offset === found.offset && told.length === found.length)
    return true
  if (found.bytes.length > 0 && told.hash === damageHash(found.bytes)) return true
  const seqs = new Set(told.seqs)
  return found.seqs.length > 0 && found.seqs.every(seq => seqs.has(seq))
}

function setSeqs(damages: FoundDamage[], at: number | null, seqs: readonly number[]): void {
  const damage = at === null ? undefined : damages[at]
  if (at !== null && damage) damages[at] = { ...damage, seqs }
}

function joined(a: FoundDamage, b: FoundDamage): FoundDamage {
  return { ...a, length: a.length + b.length, bytes: Buffer.concat([a.bytes, b.bytes]) }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
}
