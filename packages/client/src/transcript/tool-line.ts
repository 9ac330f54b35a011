/** One line that says what a tool call did: `bash    npm test    2.4 s  exit 1`. */
import { duration, size } from './amounts.ts'
import { columns, oneLine, padded } from './visible.ts'

const INDENT = 4 // columns before the line
const MAX_NAME = 40 // a model may call anything
const MAX_FACTS = 40
const MIN_SUBJECT = 4 // below that the line wraps

export type ToolLine = { name: string; subject: string; facts: string }

/** What the call is about, by the fields that our tools have. */
export function subjectOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const field = (name: string): unknown => (name in input ? Reflect.get(input, name) : undefined)
  const command = field('command')
  if (typeof command === 'string') return command
  const args = field('args')
  if (Array.isArray(args)) return args.join(' ')
  const path = field('path')
  if (typeof path !== 'string') return JSON.stringify(input)
  const offset = field('offset')
  const limit = field('limit')
  if (typeof offset !== 'number' && typeof limit !== 'number') return path
  const from = typeof offset === 'number' ? offset : 1
  return `${path}:${from}${typeof limit === 'number' ? `-${from + limit - 1}` : ''}`
}

/** What came of it. `outputBytes` is of the text that the model reads; `ms` null: nobody took the time. */
export function factsOf(
  details: Readonly<Record<string, unknown>>,
  end: { ms: number | null; isError: boolean; outcome: string; outputBytes: number },
): string {
  const facts = end.ms === null ? [] : [duration(end.ms)]
  const changed = changedLines(details.diff)
  if (end.outcome !== 'done') facts.push(end.outcome)
  else if (typeof details.signal === 'string') facts.push(details.signal)
  else if (typeof details.exit_code === 'number') facts.push(`exit ${details.exit_code}`)
  else if (changed) facts.push(`+${changed.added} −${changed.removed}`)
  else if (end.isError) facts.push(typeof details.code === 'string' ? details.code : 'failed')
  else facts.push(size(end.outputBytes))
  return facts.join('  ')
}

/** `width` 0: no padding and no cut. */
export function lineOf(line: ToolLine, width: number): string {
  const facts = oneLine(line.facts, MAX_FACTS)
  if (width === 0) return `${oneLine(line.name, MAX_NAME)} ${oneLine(line.subject, 200)}  ${facts}`
  const name = padded(oneLine(line.name, MAX_NAME), 7)
  const room = width - INDENT - columns(name) - 1 - columns(facts) - 2
  const subject = oneLine(line.subject, Math.max(MIN_SUBJECT, room))
  return `${name} ${padded(subject, room)}  ${facts}`
}

/** The changed lines of a unified diff, without its headers. */
export function diffLines(diff: unknown): string[] {
  if (typeof diff !== 'string') return []
  return diff.split('\n').filter(line => /^[-+]/.test(line) && !/^(---|\+\+\+) /.test(line))
}

function changedLines(diff: unknown): { added: number; removed: number } | null {
  if (typeof diff !== 'string') return null
  const lines = diffLines(diff)
  const added = lines.filter(line => line.startsWith('+')).length
  return { added, removed: lines.length - added }
}
