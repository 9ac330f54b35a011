/** What a model reads about jobs: how one ended, that one runs on, and the notices. Pure. */
import { cutText } from '../output/index.ts'
import type { JobEnd, NumberedJob, SessionNotes } from './session-notes.ts'

const MAX_COMMAND_CHARS = 200
const MAX_NOTICE_BYTES = 4096
const NOTICE_TAIL_LINES = 20
const NOTICE_TAIL_BYTES = 3072
const CLOSING_MARK = /<\/(?=notice)/gi

/** One line of a command, for lists. */
export function commandLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= MAX_COMMAND_CHARS ? line : `${line.slice(0, MAX_COMMAND_CHARS)}…`
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = Number((ms / 1000).toFixed(1))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 120) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function endText(end: JobEnd): string {
  if (end.how === 'gone') return end.reason
  if (end.timed_out) return 'killed at the end of its lifetime'
  return end.signal === null ? `exit code ${end.exit_code}` : `killed by ${end.signal}`
}

/** `job 3 ended: exit code 0 after 12 s`. */
export function endedText({ number, ended }: NumberedJob): string {
  if (!ended) return `job ${number} still runs`
  if (ended.end.how === 'gone') return `job ${number} is gone: ${ended.end.reason}`
  const after = ended.durationMs === null ? '' : ` after ${durationText(ended.durationMs)}`
  return `job ${number} ended: ${endText(ended.end)}${after}`
}

/** `3  running 12 s  npm run dev`. */
export function listedText(job: NumberedJob, nowMs: number): string {
  const state = job.ended
    ? endText(job.ended.end)
    : `running ${durationText(Math.max(0, nowMs - job.startedAt))}`
  return `${job.number}  ${state}  ${job.command}`
}

export function jobNotice(job: NumberedJob): string {
  const lines = [`Background ${endedText(job)}.`, `Command: ${job.command}`]
  const tail = lastLines(job.ended?.tail ?? '')
  if (tail !== '') lines.push('Its last output:', tail)
  return marked('job', lines.join('\n'))
}

export const sandboxNotice = () =>
  marked(
    'sandbox',
    'The sandbox is not the one that you left: it was started anew. Processes, jobs and files outside of the workspace are gone; the workspace is as it was.',
  )

/** The last 20 lines, never half a character. */
function lastLines(text: string): string {
  const lines = text.split('\n').slice(-NOTICE_TAIL_LINES).join('\n')
  const over = Buffer.byteLength(lines) - NOTICE_TAIL_BYTES
  return over <= 0
    ? lines
    : Buffer.from(lines)
        .subarray(over)
        .toString()
        .replace(/^\uFFFD+/, '')
}

/** Its content is data: it can not close the block and go on as somebody else. */
function marked(kind: string, text: string): string {
  const inside = cutText(text.replace(CLOSING_MARK, '<\\/'), MAX_NOTICE_BYTES)
  return `<notice kind="${kind}">\n${inside}\n</notice>`
}

/** What is due: ended jobs and the newest replaced sandbox, where the model has not been told of them. */
export function dueNotices(notes: SessionNotes): { key: string; text: string }[] {
  const told = new Set(notes.notices.map(one => one.key))
  const sandboxes = notes.replaced
    .slice(-1)
    .map(generation => ({ key: `sandbox:${generation}`, text: sandboxNotice() }))
  const jobs = [...notes.jobs.values()].flatMap(job =>
    job.ended && !job.ended.told ? [{ key: `job:${job.scope}/${job.id}`, text: jobNotice(job) }] : [],
  )
  return [...sandboxes, ...jobs].filter(one => !told.has(one.key))
}
