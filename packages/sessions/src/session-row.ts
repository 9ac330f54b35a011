/** The row of a listing, moved on record by record so that nobody reads a transcript to show its title (H12). */
import type { SessionId, SessionRecord } from '@beige/protocol'
import type { SessionRow } from './store.ts'

export const MAX_TITLE_CHARS = 60

const STALE_MS = 1000

/**
 * Whether a listing that shows `written` should be written anew: at once where it would show something else, and no more
 * often than each second for times and counts alone, which every record moves.
 */
export function isRowDue(written: SessionRow | null, row: SessionRow): boolean {
  if (written === null || row.updatedAt - written.updatedAt >= STALE_MS) return true
  return row.title !== written.title || row.model !== written.model || row.cwd !== written.cwd
}

/** `named`: somebody gave the title; else the first prompt does. */
export type RowState = { row: SessionRow; named: boolean; hasPrompt: boolean }

export function emptyRow(id: SessionId): RowState {
  const row = { id, title: '', cwd: '', model: '', createdAt: 0, updatedAt: 0, messageCount: 0, meta: {} }
  return { row, named: false, hasPrompt: false }
}

export function rowOf(id: SessionId, records: readonly SessionRecord[]): SessionRow {
  return records.reduce(moveRow, emptyRow(id)).row
}

export function moveRow(state: RowState, record: SessionRecord): RowState {
  const row = {
    ...state.row,
    createdAt: state.row.createdAt === 0 ? record.at : state.row.createdAt,
    updatedAt: Math.max(state.row.updatedAt, record.at),
    messageCount: counted(state.row.messageCount, record),
  }
  switch (record.type) {
    case 'session': {
      const { cwd, model = '', meta = {}, title = '', parent } = record
      const origin = parent === undefined ? {} : { parent }
      return {
        ...state,
        row: { ...row, cwd, model, meta, title: cut(title), createdAt: record.at, ...origin },
        named: title !== '',
      }
    }
    case 'prompt': {
      if (state.named || state.hasPrompt) return { ...state, row, hasPrompt: true }
      const text = record.message.find(block => block.type === 'text')?.text ?? ''
      return { ...state, row: { ...row, title: firstLine(text) }, hasPrompt: true }
    }
    case 'setting': {
      if (typeof record.value !== 'string') return { ...state, row }
      if (record.name === 'title') return { ...state, row: { ...row, title: cut(record.value) }, named: true }
      return { ...state, row: record.name === 'model' ? { ...row, model: record.value } : row }
    }
    default:
      return { ...state, row }
  }
}

function counted(count: number | null, { type }: SessionRecord): number | null {
  return count !== null && (type === 'prompt' || type === 'message') ? count + 1 : count
}

function firstLine(text: string): string {
  return cut(text.trimStart().split('\n', 1)[0] ?? '')
}

// A title ends up in a terminal: control characters would be commands there.
function cut(text: string): string {
  const shown = text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ').trim()
  return [...shown].slice(0, MAX_TITLE_CHARS).join('').trimEnd()
}
