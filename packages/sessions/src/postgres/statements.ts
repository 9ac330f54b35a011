/** The statements of store `postgres`, in plain SQL that also runs on engines that speak the same protocol. */
import type { ListQuery } from '../store.ts'
import type { Statement } from './database.ts'

const COLUMNS = 'title, cwd, model, created_at, updated_at, message_count, parent, meta, search'

/** Parameters of the columns, in their order, from `$first` on. */
function columnParameters(first: number): string {
  return COLUMNS.split(', ')
    .map((_, index) => `$${first + index}`)
    .join(', ')
}

function assignments(first: number): string {
  return COLUMNS.split(', ')
    .map((column, index) => `${column} = $${first + index}`)
    .join(', ')
}

// The lines of a batch in one parameter of bytes, with where each begins and how long it is.
const INSERT_LINES = `INSERT INTO records (tenant, session, seq, epoch, line)
  SELECT mine.tenant, mine.id, r.seq, mine.epoch, substring($6::bytea FROM r.start FOR r.size)
  FROM mine, unnest($3::bigint[], $4::int[], $5::int[]) AS r(seq, start, size)`

export const CREATE: Statement = {
  name: 'create',
  text: `WITH mine AS (
    INSERT INTO sessions (tenant, id, epoch, owner, last_seq, prev, ${COLUMNS})
    VALUES ($1, $2, 1, $7, $8, $9, ${columnParameters(10)})
    ON CONFLICT (tenant, id) DO NOTHING RETURNING tenant, id, epoch)
  ${INSERT_LINES}`,
}

// The lock of this row orders the append before or after a takeover; a snapshot would not.
function appendText(columns: string): string {
  return `WITH mine AS (
    UPDATE sessions SET last_seq = $10, prev = $11${columns}
    WHERE tenant = $1 AND id = $2 AND owner = $7 AND epoch = $8 AND last_seq = $9
    RETURNING tenant, id, epoch)
  ${INSERT_LINES}`
}
export const APPEND: Statement = { name: 'append', text: appendText('') }
export const APPEND_LISTED: Statement = { name: 'append_listed', text: appendText(`, ${assignments(12)}`) }

export const HEAD: Statement = {
  name: 'head',
  text: 'SELECT epoch, owner, last_seq, prev FROM sessions WHERE tenant = $1 AND id = $2',
}

export const LOOK: Statement = {
  name: 'look',
  text: `SELECT s.epoch, s.owner, s.last_seq, s.prev, r.beats, r.name, r.advertise, f.line AS first_line,
    extract(epoch FROM r.expires_at - now()) * 1000 AS left_ms
  FROM sessions s
    LEFT JOIN replicas r ON r.incarnation = s.owner
    LEFT JOIN records f ON f.tenant = s.tenant AND f.session = s.id AND f.seq = 1
  WHERE s.tenant = $1 AND s.id = $2 AND s.deleted_at IS NULL`,
}

const IS_FREE = `deleted_at IS NULL AND epoch = $3 AND (owner IS NULL OR owner = $4 OR NOT EXISTS (
    SELECT 1 FROM replicas r WHERE r.incarnation = sessions.owner AND r.expires_at > now()))`

export const TAKE: Statement = {
  name: 'take',
  text: `UPDATE sessions SET epoch = epoch + 1, owner = $4
  WHERE tenant = $1 AND id = $2 AND ((${IS_FREE}) OR ($5::boolean AND deleted_at IS NULL AND epoch = $3))`,
}

export const REMOVE: Statement = {
  name: 'remove',
  text: `UPDATE sessions SET epoch = epoch + 1, owner = NULL, deleted_at = $5
  WHERE tenant = $1 AND id = $2 AND ${IS_FREE}`,
}

function historyText(condition: string): string {
  return `SELECT s.epoch, s.owner, s.last_seq, s.prev, r.seq, r.epoch AS record_epoch, r.line
  FROM sessions s LEFT JOIN records r ON r.tenant = s.tenant AND r.session = s.id
  WHERE s.tenant = $1 AND s.id = $2 AND ${condition}
  ORDER BY r.seq`
}
export const HISTORY: Statement = { name: 'history', text: historyText('s.deleted_at IS NULL') }
export const WHOLE_HISTORY: Statement = { name: 'whole_history', text: historyText('s.purged_at IS NULL') }

export const ALL: Statement = {
  name: 'all',
  text: 'SELECT id FROM sessions WHERE tenant = $1 AND purged_at IS NULL ORDER BY id',
}

// The same fence as an append; a session in the trash has no owner.
export const REWRITE: Statement = {
  name: 'rewrite',
  text: `WITH mine AS (
    UPDATE sessions SET prev = $10, ${assignments(11)}
    WHERE tenant = $1 AND id = $2 AND owner IS NOT DISTINCT FROM $7 AND epoch = $8 AND last_seq = $9
      AND purged_at IS NULL
    RETURNING tenant, id),
  gone AS (
    DELETE FROM records r USING mine WHERE r.tenant = mine.tenant AND r.session = mine.id AND r.seq <> ALL($3::bigint[])),
  moved AS (
    UPDATE records r SET line = substring($6::bytea FROM l.start FOR l.size)
    FROM mine, unnest($3::bigint[], $4::int[], $5::int[]) AS l(seq, start, size)
    WHERE r.tenant = mine.tenant AND r.session = mine.id AND r.seq = l.seq)
  SELECT id FROM mine`,
}

export const QUARANTINED: Statement = {
  name: 'quarantined',
  text: 'SELECT seq, hash, line FROM quarantine WHERE tenant = $1 AND session = $2',
}

export const REPLACE_COPY: Statement = {
  name: 'replace_copy',
  text: 'UPDATE quarantine SET line = $5 WHERE tenant = $1 AND session = $2 AND seq = $3 AND hash = $4',
}

function releaseText(columns: string): string {
  return `UPDATE sessions SET owner = NULL${columns}
  WHERE tenant = $1 AND id = $2 AND owner = $3 AND epoch = $4`
}
export const RELEASE: Statement = { name: 'release', text: releaseText('') }
export const RELEASE_LISTED: Statement = { name: 'release_listed', text: releaseText(`, ${assignments(5)}`) }

export const QUARANTINE: Statement = {
  name: 'quarantine',
  text: `INSERT INTO quarantine (tenant, session, seq, hash, reason, line) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (tenant, session, seq, hash) DO NOTHING`,
}

export const IS_IN_TRASH: Statement = {
  name: 'is_in_trash',
  text: `SELECT 1 FROM sessions
  WHERE tenant = $1 AND id = $2 AND deleted_at IS NOT NULL AND purged_at IS NULL`,
}

export const TRASH: Statement = {
  name: 'trash',
  text: `SELECT id, deleted_at FROM sessions
  WHERE tenant = $1 AND deleted_at IS NOT NULL AND purged_at IS NULL ORDER BY deleted_at DESC`,
}

export const RESTORE: Statement = {
  name: 'restore',
  text: `UPDATE sessions SET deleted_at = NULL
  WHERE tenant = $1 AND id = $2 AND deleted_at IS NOT NULL AND purged_at IS NULL`,
}

// The row stays, without anything that was said: an epoch is never given twice.
export const EMPTY_TRASH: Statement = {
  name: 'empty_trash',
  text: `WITH old AS (
    UPDATE sessions SET purged_at = $3, title = '', cwd = '', model = '', parent = NULL, meta = '{}', search = ''
    WHERE tenant = $1 AND deleted_at < $2 AND purged_at IS NULL
    RETURNING tenant, id),
  lines AS (
    DELETE FROM records r USING old WHERE r.tenant = old.tenant AND r.session = old.id),
  copies AS (
    DELETE FROM quarantine q USING old WHERE q.tenant = old.tenant AND q.session = old.id)
  SELECT count(*) AS count FROM old`,
}

export const BEAT: Statement = {
  name: 'beat',
  text: `INSERT INTO replicas (incarnation, name, advertise, beats, expires_at)
  VALUES ($1, $2, $3, 1, now() + $4 * interval '1 millisecond')
  ON CONFLICT (incarnation) DO UPDATE
    SET beats = replicas.beats + 1, expires_at = excluded.expires_at, advertise = excluded.advertise`,
}

// Those that died long ago go along; their sessions are free without them.
export const LEAVE: Statement = {
  name: 'leave',
  text: `DELETE FROM replicas WHERE incarnation = $1 OR expires_at < now() - interval '1 day'`,
}

/** What the title matches first, then ids, then directories. */
const RANK = `CASE WHEN split_part(search, chr(10), 1) LIKE $2 THEN 0
  WHEN split_part(search, chr(10), 2) LIKE $2 THEN 1 ELSE 2 END`

/** `counted`: with the number of all that match, which costs more than the page itself. */
export function pageStatement({ cwd, text }: ListQuery, counted: boolean): Statement {
  const hasText = Boolean(text)
  const cwdAt = hasText ? 3 : 2
  const limitAt = cwdAt + (cwd === undefined ? 0 : 1)
  const matching = `tenant = $1 AND deleted_at IS NULL${hasText ? ' AND search LIKE $2' : ''}${
    cwd === undefined ? '' : ` AND cwd = $${cwdAt}`
  }`
  // A search reads every row of the tenant, and that once; without one both the page and the count have their index.
  const source = hasText ? `(SELECT * FROM found) s` : `sessions WHERE ${matching}`
  const page = `SELECT id, ${COLUMNS} FROM ${source}
    ORDER BY ${hasText ? `${RANK}, ` : ''}updated_at DESC, id DESC LIMIT $${limitAt} OFFSET $${limitAt + 1}`
  const found = hasText
    ? `WITH found AS MATERIALIZED (SELECT id, ${COLUMNS} FROM sessions WHERE ${matching}) `
    : ''
  return {
    name: `page${hasText ? '_text' : ''}${cwd === undefined ? '' : '_cwd'}${counted ? '_counted' : ''}`,
    // The count stands beside a page that may be empty.
    text: counted
      ? `${found}SELECT c.total, p.* FROM (SELECT count(*) AS total FROM ${source}) c LEFT JOIN (${page}) p ON true`
      : `${found}${page}`,
  }
}
