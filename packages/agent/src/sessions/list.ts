/** `agent sessions list` and `trash`: what there is, newest first. */
import { oneLine, plural, textTable, visible } from '@beige/client'
import type { Clock } from '@beige/protocol'
import type { ListPage, SessionRow } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { ProcessWorld } from '../process-world.ts'
import { type PlaceOptions, withPlace } from './place.ts'

export type ListOptions = PlaceOptions & { all?: boolean; query?: string; limit?: string; offset?: string }

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 500
const MAX_TITLE = 60
const RIGHT = new Set([2])

export async function listCommand(raw: ListOptions, world: ProcessWorld): Promise<number> {
  const limit = Math.min(MAX_LIMIT, whole('--limit', raw.limit, DEFAULT_LIMIT, 1))
  const offset = whole('--offset', raw.offset, 0, 0)
  return withPlace(raw, world, async ({ store }) => {
    const query = { limit, offset, ...(raw.query === undefined ? {} : { text: raw.query }) }
    const page = await store.list(raw.all === true ? query : { ...query, cwd: world.cwd })
    if (raw.json === true) {
      world.stdout.write(`${JSON.stringify({ sessions: page.rows.map(shown), total: page.total })}\n`)
      return 0
    }
    if (page.rows.length > 0) world.stdout.write(`${table(page, raw.all === true, world)}\n`)
    const elsewhere = raw.all === true ? 0 : (await store.list({ ...query, limit: 1 })).total - page.total
    const note = noteOf(page, offset, raw, elsewhere)
    if (note !== '') world.stderr.write(`${visible(note)}\n`)
    return 0
  })
}

export async function trashCommand(raw: PlaceOptions, world: ProcessWorld): Promise<number> {
  return withPlace(raw, world, async ({ store }) => {
    const entries = await store.trash()
    if (raw.json === true) {
      const trash = entries.map(({ id, deletedAt, place }) => ({ id, deleted_at: deletedAt, place }))
      world.stdout.write(`${JSON.stringify({ trash })}\n`)
    } else if (entries.length === 0) {
      world.stderr.write('the trash is empty\n')
    } else {
      const lines = entries.map(({ id, deletedAt }) => [id, ago(deletedAt, world.clock)])
      world.stdout.write(`${textTable([['session', 'removed'], ...lines])}\n`)
    }
    return 0
  })
}

export function whole(name: string, text: string | undefined, otherwise: number, least: number): number {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value
  const reason = `${JSON.stringify(text)} is none`
  throw fail('bad_value', { name, reason, expected: `a whole number from ${least}` })
}

function table({ rows }: ListPage, isAll: boolean, { clock, stdout }: ProcessWorld): string {
  const head = ['session', 'changed', 'messages', 'model', 'title', ...(isAll ? ['directory'] : [])]
  const lines = rows.map(row => [
    row.id,
    ago(row.updatedAt, clock),
    row.messageCount === null ? '?' : String(row.messageCount),
    oneLine(row.model, 40),
    oneLine(row.title, MAX_TITLE),
    ...(isAll ? [oneLine(row.cwd, 200)] : []),
  ])
  const text = textTable([head, ...lines], RIGHT)
  const width = stdout.isTTY === true ? (stdout.columns ?? 0) : 0
  return width === 0
    ? text
    : text
        .split('\n')
        .map(line => oneLine(line, width))
        .join('\n')
}

function noteOf({ rows, total }: ListPage, offset: number, raw: ListOptions, elsewhere: number): string {
  if (rows.length > 0) {
    const next = offset + rows.length
    return next < total ? `${next} of ${total}; more with --offset ${next}` : ''
  }
  if (offset > 0 && total > 0) return `there are ${total}, none from ${offset} on`
  const what = raw.query === undefined ? 'no sessions' : `no sessions with ${JSON.stringify(raw.query)}`
  if (raw.all === true) return `${what} yet`
  const others = elsewhere > 0 ? `; ${plural(elsewhere, 'session')} of other directories with --all` : ''
  return `${what} of this directory yet${others}`
}

/** In the names of the wire (`list_sessions`). */
export function shown(row: SessionRow): Record<string, unknown> {
  const { id, title, cwd, model, createdAt, updatedAt, messageCount, parent, meta } = row
  const times = { created_at: createdAt, updated_at: updatedAt }
  return { id, title, cwd, model, ...times, message_count: messageCount, parent, meta }
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export function ago(time: number, clock: Clock): string {
  const past = clock.now() - time
  if (past < MINUTE) return 'now'
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`
  if (past < DAY) return `${Math.floor(past / HOUR)} h ago`
  if (past < 30 * DAY) return `${Math.floor(past / DAY)} d ago`
  return new Date(time).toISOString().slice(0, 10)
}
