/**
 * What store `postgres` asks of its database, each call one statement in a transaction of its own. Rejects with
 * `store_unreachable` (never sent), `answer_lost` (may have been carried out, or may yet be) or `storage` (refused).
 */
import type { SessionId } from '@beige/protocol'
import type { FoundDamage } from '../chain.ts'
import type { EncodedRecord } from '../record-line.ts'
import type { ListPage, ListQuery, SessionRow, TrashedSession } from '../store.ts'

/** Who may write: the fence is this row's lock (design page "Sessions", Store `postgres`). */
export type Head = { epoch: number; owner: string | null; lastSeq: number; prev: string }

/** `beats` moves while the owner lives; `leftMs` until it counts as dead, by the database's clock. */
export type Look = Head & { firstLine: Uint8Array | null; owning: Owning | null }
export type Owning = { beats: number; leftMs: number; name: string; advertise: string | null }

export type StoredLine = { seq: number; epoch: number; line: Uint8Array }
export type CopiedLine = { seq: number; hash: string; line: Uint8Array }
export type History = { head: Head; lines: readonly StoredLine[] }

/** Sessions of one tenant. */
export interface SessionTables {
  /** False when there is a row of that id, in the trash or not. */
  create(id: SessionId, owner: string, encoded: readonly EncodedRecord[], row: SessionRow): Promise<boolean>
  /** Null when there is none, or it is in the trash. */
  look(id: SessionId): Promise<Look | null>
  /** Also of one in the trash. */
  head(id: SessionId): Promise<Head | null>
  /** Compare-and-set to the epoch after `seen`. False when another one was faster, or the owner lives. */
  take(id: SessionId, seen: number, owner: string, isKnownDead: boolean): Promise<boolean>
  history(id: SessionId): Promise<History | null>
  /** False when the fence has fallen, or the last record is not `before.lastSeq`. */
  append(
    id: SessionId,
    before: Head,
    encoded: readonly EncodedRecord[],
    row: SessionRow | null,
  ): Promise<boolean>
  release(id: SessionId, head: Head, row: SessionRow | null): Promise<void>
  quarantine(id: SessionId, damages: readonly FoundDamage[]): Promise<void>
  /** All that are not purged, those in the trash, too. */
  all(): Promise<readonly SessionId[]>
  /** Also of one in the trash. */
  wholeHistory(id: SessionId): Promise<History | null>
  /** Puts these lines in the place of all that are there. False when the fence has fallen; again, it changes nothing. */
  rewrite(id: SessionId, before: Head, encoded: readonly EncodedRecord[], row: SessionRow): Promise<boolean>
  quarantined(id: SessionId): Promise<readonly CopiedLine[]>
  replaceCopy(id: SessionId, seq: number, hash: string, line: Uint8Array): Promise<void>
  page(query: ListQuery): Promise<ListPage>
  /** Compare-and-set as `take`, into the trash. */
  remove(id: SessionId, seen: number, owner: string, now: number): Promise<boolean>
  isInTrash(id: SessionId): Promise<boolean>
  trash(): Promise<readonly TrashedSession[]>
  restore(id: SessionId): Promise<boolean>
  /** Removes the records of what is in the trash since before `time`. */
  emptyTrash(time: number, now: number): Promise<number>
}

/** `name` and `advertise` are for other replicas and for people. */
export type Replica = { incarnation: string; name: string; advertise: string | null }

export interface ReplicaTable {
  /** Lives for `EXPIRY_MS` from now on, by the database's clock. */
  beat(replica: Replica): Promise<void>
  leave(incarnation: string): Promise<void>
}
