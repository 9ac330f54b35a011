/** What can be done with numbered jobs: wait, output, stdin, kill, list. `bash_job` and the job fields of `exec` are its two namings. */
import { isError } from '@beige/protocol'
import { type JobBook, MAX_RUNNING_JOBS, type Reported } from '../jobs/job-book.ts'
import { readJobOutput } from '../jobs/job-output.ts'
import { durationText, endedText, listedText } from '../jobs/job-texts.ts'
import { runningJobs } from '../jobs/session-notes.ts'
import { countText } from '../output/index.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import type { JobWords } from './command-as-job.ts'
import { textResult } from './define-tool.ts'

const MAX_LISTED = 2 * MAX_RUNNING_JOBS // the newest ones

export type JobAction = 'wait' | 'output' | 'stdin' | 'kill' | 'list'

export type JobQuestion = {
  action: JobAction
  /** Absent: the one that runs, where it is the only one. */
  job: number | undefined
  timeoutMs: number
  offset: number
  limit: number
  /** For its stdin, which is closed afterwards where `eof` is true. */
  text: string | undefined
  eof: boolean
  words: JobWords
}

export async function askJob(question: JobQuestion, context: ToolContext): Promise<ToolResult> {
  const { jobs } = context
  if (!jobs) return errorResult('invalid_input', 'this call belongs to no session, so there are no jobs')
  if (question.action === 'list') return textResult(listed(jobs), { jobs: jobs.all.size })
  const number = question.job ?? onlyRunning(jobs)
  if (number === null) return errorResult('invalid_input', `which job? ${listed(jobs)}`)
  if (!jobs.all.has(number)) return errorResult('not_found', `there is no job ${number}. ${listed(jobs)}`)
  switch (question.action) {
    case 'wait':
      return await waited(jobs, number, question, context)
    case 'kill':
      return told(await jobs.kill(number, context.signal))
    case 'stdin':
      return await written(jobs, number, question, context)
    case 'output':
      return await readJobOutput(jobs, number, question, context)
    default:
      return question.action satisfies never
  }
}

async function waited(
  jobs: JobBook,
  number: number,
  { timeoutMs, words }: JobQuestion,
  { clock, signal, steered }: ToolContext,
): Promise<ToolResult> {
  const enough = new AbortController()
  const over = new AbortController()
  steered?.(over.signal).then(
    () => enough.abort(),
    () => {},
  )
  const from = clock.monotonic()
  const reported = await jobs.wait(number, timeoutMs, signal, enough.signal).finally(() => over.abort())
  const { job } = reported
  if (job.ended) return told(reported)
  const after = enough.signal.aborted
    ? `after ${durationText(clock.monotonic() - from)} more, and somebody has a word for you`
    : `after ${durationText(timeoutMs)} more`
  const note = `[job ${job.number} still runs ${after}; ${words.goOn(job.number)}]`
  return withOutput(reported, note, { running: true })
}

function told(reported: Reported): ToolResult {
  const { job } = reported
  const end = job.ended?.end
  if (end?.how === 'gone') {
    const result = withOutput(reported, `[${endedText(job)}]`, { code: 'unknown_outcome' })
    return { ...result, isError: true, outcome: 'unknown' }
  }
  const details = { running: false, exit_code: end?.exit_code ?? null, signal: end?.signal ?? null }
  return withOutput(reported, `[${endedText(job)}]`, details)
}

function withOutput(
  { job, output, totalBytes }: Reported,
  note: string,
  details: Readonly<Record<string, unknown>>,
): ToolResult {
  const text = output === '' ? note : `${output}\n${note}`
  return textResult(text, { job: job.number, output_bytes: totalBytes, ...details })
}

/** It has an effect, so after a takeover it is not done again. */
async function written(
  jobs: JobBook,
  number: number,
  { text = '', eof, timeoutMs, words }: JobQuestion,
  context: ToolContext,
): Promise<ToolResult> {
  if (text === '' && !eof) return errorResult('invalid_input', words.nothingToWrite)
  const ended = jobs.all.get(number)
  if (ended?.ended) return errorResult('invalid_input', `nobody reads it: ${endedText(ended)}`)
  const bytes = Buffer.from(text)
  const late = AbortSignal.timeout(timeoutMs)
  await context.begins(null)
  try {
    await jobs.write(number, bytes, { end: eof }, AbortSignal.any([context.signal, late]))
  } catch (error) {
    if (isError(error, 'conflict')) return errorResult('invalid_input', words.closed(number))
    if (isError(error, 'gone', 'not_found')) {
      return errorResult('not_found', `job ${number} has ended: nobody reads its stdin`)
    }
    if (!late.aborted || context.signal.aborted) throw error
    const size = countText(bytes.length, 'byte')
    return errorResult(
      'timeout',
      `job ${number} did not read all of its stdin within ${durationText(timeoutMs)}: a part of the ${size} may be written`,
    )
  }
  const done = [
    ...(bytes.length > 0 ? [`wrote ${countText(bytes.length, 'byte')} to the stdin of job ${number}`] : []),
    ...(eof ? [`closed the stdin of job ${number}`] : []),
  ].join(' and ')
  return textResult(`${done}; ${words.goOn(number)}`, { job: number, written_bytes: bytes.length })
}

function onlyRunning(jobs: JobBook): number | null {
  const [first, second] = runningJobs({ jobs: jobs.all })
  return first && !second ? first.number : null
}

function listed(jobs: JobBook): string {
  const all = [...jobs.all.values()]
  if (all.length === 0) return 'This session has no jobs.'
  const shown = all.slice(-MAX_LISTED)
  const more = all.length > shown.length ? `\n[${all.length - shown.length} older ones are left out]` : ''
  return `Jobs:\n${shown.map(job => listedText(job, jobs.clock.now())).join('\n')}${more}`
}
