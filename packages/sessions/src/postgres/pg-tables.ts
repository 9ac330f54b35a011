/** The tables of store `postgres` over a database: values into statements, rows out of answers. */
import { type Clock, isSessionId, type SessionId } from '@beige/protocol'
import { compile, map, unknown } from '@earendil-works/pi-schema'
import { damageHash } from '../chain.ts'
import { EXPIRY_MS } from '../incarnation.ts'
import type { EncodedRecord } from '../record-line.ts'
import type { ListQuery, SessionRow } from '../store.ts'
import type { Answer, Database, Statement } from './database.ts'
import * as sql from './statements.ts'
import type { Head, History, ReplicaTable, SessionTables } from './tables.ts'
import { createTotals } from './totals.ts'

const READ_MS = 30_000 // of a whole history or listing

export function createPgTables(database: Database, tenant: string, clock: Clock): SessionTables {
  const totals = createTotals(clock)
  const run = (statement: Statement, ...values: readonly unknown[]) =>
    database.run(statement, [tenant, ...values])
  const read = (statement: Statement, ...values: readonly unknown[]) =>
    database.run(statement, [tenant, ...values], READ_MS)

  async function historyBy(statement: Statement, id: SessionId): Promise<History | null> {
    const { rows } = await read(statement, id)
    const [first] = rows
    if (!first) return null
    const lines = rows.flatMap(({ seq, record_epoch: epoch, line }) =>
      line === null ? [] : [{ seq: Number(seq), epoch: Number(epoch), line: bytesOf(line) }],
    )
    return { head: headOf(first), lines }
  }

  return {
    async create(id, owner, encoded, row) {
      totals.forget()
      const last = encoded.at(-1)
      const { count } = await run(
        sql.CREATE,
        id,
        ...linesOf(encoded),
        owner,
        last?.record.seq ?? 0,
        last?.hash ?? '',
        ...columnsOf(row),
      )
      return count > 0
    },
    async head(id) {
      const [row] = (await run(sql.HEAD, id)).rows
      return row ? headOf(row) : null
    },
    async look(id) {
      const [row] = (await run(sql.LOOK, id)).rows
      if (!row) return null
      const { beats, left_ms: leftMs, name, advertise, first_line: firstLine } = row
      const owning =
        beats === null
          ? null
          : {
              beats: Number(beats),
              leftMs: Number(leftMs),
              name: String(name),
              advertise: advertise === null ? null : String(advertise),
            }
      return { ...headOf(row), firstLine: firstLine === null ? null : bytesOf(firstLine), owning }
    },
    take: async (id, seen, owner, isKnownDead) =>
      (await run(sql.TAKE, id, seen, owner, isKnownDead)).count > 0,
    history: id => historyBy(sql.HISTORY, id),
    wholeHistory: id => historyBy(sql.WHOLE_HISTORY, id),
    all: async () => (await read(sql.ALL)).rows.flatMap(({ id }) => idsOf(id)),
    async rewrite(id, before, encoded, row) {
      const { owner, epoch, lastSeq } = before
      const prev = encoded.at(-1)?.hash ?? before.prev
      const fence = [owner, epoch, lastSeq, prev]
      return (await read(sql.REWRITE, id, ...linesOf(encoded), ...fence, ...columnsOf(row))).rows.length > 0
    },
    async quarantined(id) {
      const { rows } = await read(sql.QUARANTINED, id)
      return rows.map(({ seq, hash, line }) => ({
        seq: Number(seq),
        hash: String(hash),
        line: bytesOf(line),
      }))
    },
    async replaceCopy(id, seq, hash, line) {
      await run(sql.REPLACE_COPY, id, seq, hash, line)
    },
    async append(id, before, encoded, row) {
      const last = encoded.at(-1)
      const values = [
        id,
        ...linesOf(encoded),
        before.owner,
        before.epoch,
        before.lastSeq,
        last?.record.seq,
        last?.hash,
      ]
      const { count } = row
        ? await run(sql.APPEND_LISTED, ...values, ...columnsOf(row))
        : await run(sql.APPEND, ...values)
      return count > 0
    },
    async release(id, head, row) {
      const values = [id, head.owner, head.epoch]
      await (row ? run(sql.RELEASE_LISTED, ...values, ...columnsOf(row)) : run(sql.RELEASE, ...values))
    },
    async quarantine(id, damages) {
      for (const { bytes, offset, reason } of damages) {
        if (bytes.length > 0) await run(sql.QUARANTINE, id, offset, damageHash(bytes), reason, bytes)
      }
    },
    async page(query) {
      const known = totals.of(query)
      const statement = sql.pageStatement(query, known === null)
      const { rows } = await database.run(statement, pageValues(tenant, query), READ_MS)
      const total = known ?? totals.keep(query, Number(rows[0]?.total ?? 0))
      return { rows: rows.flatMap(row => (row.id === null ? [] : rowsOf(row))), total }
    },
    async remove(id, seen, owner, now) {
      totals.forget()
      return (await run(sql.REMOVE, id, seen, owner, now)).count > 0
    },
    isInTrash: async id => (await run(sql.IS_IN_TRASH, id)).rows.length > 0,
    async trash() {
      const { rows } = await read(sql.TRASH)
      return rows.flatMap(({ id: text, deleted_at: deletedAt }) => {
        const id = String(text)
        return isSessionId(id) ? [{ id, deletedAt: Number(deletedAt), place: null }] : []
      })
    },
    async restore(id) {
      totals.forget()
      return (await run(sql.RESTORE, id)).count > 0
    },
    async emptyTrash(time, now) {
      return Number((await read(sql.EMPTY_TRASH, time, now)).rows[0]?.count ?? 0)
    },
  }
}

export function createPgReplicas(database: Database): ReplicaTable {
  return {
    async beat({ incarnation, name, advertise }) {
      await database.run(sql.BEAT, [incarnation, name, advertise, EXPIRY_MS], EXPIRY_MS)
    },
    async leave(incarnation) {
      await database.run(sql.LEAVE, [incarnation])
    },
  }
}

function pageValues(tenant: string, { cwd, text, limit, offset = 0 }: ListQuery): unknown[] {
  const pattern = text ? [`%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`] : []
  return [tenant, ...pattern, ...(cwd === undefined ? [] : [cwd]), limit, offset]
}

function linesOf(encoded: readonly EncodedRecord[]): unknown[] {
  const sizes = encoded.map(one => one.line.length)
  let next = 1
  const starts = sizes.map(size => {
    next += size
    return next - size
  })
  return [encoded.map(one => one.record.seq), starts, sizes, Buffer.concat(encoded.map(one => one.line))]
}

function columnsOf(row: SessionRow): unknown[] {
  const { id, title, cwd, model, createdAt, updatedAt, messageCount, parent = null, meta } = row
  const search = [title, id, cwd].join('\n').toLowerCase()
  // A text column takes no NUL; a directory with one does not exist.
  return [
    title,
    cwd,
    model,
    createdAt,
    updatedAt,
    messageCount ?? 0,
    parent,
    JSON.stringify(meta),
    search,
  ].map(value => (typeof value === 'string' ? value.replaceAll('\0', ' ') : value))
}

function headOf(row: Answer['rows'][number]): Head {
  const { epoch, owner, last_seq: lastSeq, prev } = row
  return {
    epoch: Number(epoch),
    owner: owner === null ? null : String(owner),
    lastSeq: Number(lastSeq),
    prev: String(prev),
  }
}

function rowsOf(row: Answer['rows'][number]): SessionRow[] {
  const { title, cwd, model, created_at, updated_at, message_count, parent, meta } = row
  const id = String(row.id)
  if (!isSessionId(id)) return []
  return [
    {
      id,
      title: String(title),
      cwd: String(cwd),
      model: String(model),
      createdAt: Number(created_at),
      updatedAt: Number(updated_at),
      messageCount: Number(message_count),
      ...(parent === null ? {} : { parent: String(parent) }),
      meta: metaOf(meta),
    },
  ]
}

const metaSchema = compile(map(unknown()))

function metaOf(text: unknown): Readonly<Record<string, unknown>> {
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : {}
  return metaSchema.check(value) ? value : {}
}

function idsOf(value: unknown): SessionId[] {
  const id = String(value)
  return isSessionId(id) ? [id] : []
}

function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0)
}
