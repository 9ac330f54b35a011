/** Runs test files with node:test, a process each, and hands every event on as it comes. */
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'

// Tests with engines share one disk and one Docker: more at once does not end sooner.
const MAX_AT_ONCE = 4
const TEST_TIMEOUT_MS = 300_000
const STALL_MS = 300_000 // without any news from any file
const MAX_STDERR = 4_000 // characters of one file

export type TestEvent = { type: string; data: unknown }
export type Skipped = { file: string; name: string; reason: string }
export type TestRun = {
  totals: { passed: number; failed: number; skipped: number }
  /** What failed, each with its file, its name and the error. */
  failed: readonly string[]
  skipped: readonly Skipped[]
  /** Wall time of each file, the slowest first. */
  slowest: readonly { file: string; ms: number }[]
}

export type TestRequest = {
  root: string
  files: readonly string[]
  onEvent?: (event: TestEvent) => void
  /** How long nothing may be heard before the run is given up. */
  stallMs?: number
}

export async function runTests({ root, files, onEvent, stallMs = STALL_MS }: TestRequest): Promise<TestRun> {
  if (files.length === 0)
    return { totals: { passed: 0, failed: 0, skipped: 0 }, failed: [], skipped: [], slowest: [] }
  const watchdog = new AbortController()
  const stream = run({
    cwd: root,
    files: files.map(file => join(root, file)),
    concurrency: Math.min(availableParallelism(), MAX_AT_ONCE),
    execArgv: ['--conditions=beige-source'],
    timeout: TEST_TIMEOUT_MS,
    // A third of the processor time of a test file is reading and stripping TypeScript.
    env: { NODE_COMPILE_CACHE: join(root, '.cache/code'), ...process.env },
    signal: watchdog.signal,
  })
  const totals = { passed: 0, failed: 0, skipped: 0 }
  const failed: string[] = []
  const skipped: Skipped[] = []
  const times: { file: string; ms: number }[] = []
  const place = (file: string | undefined): string => relative(root, file ?? root)
  const said = new Map<string, string>() // stderr by file: a file that does not load says why there alone
  stream.on('test:stderr', ({ file, message }) =>
    said.set(file, ((said.get(file) ?? '') + message).slice(-MAX_STDERR)),
  )
  stream.on('test:fail', ({ name, file, details: { error } }) => {
    // A parent fails because a child did; the child has been reported.
    if (Reflect.get(error, 'failureType') === 'subtestsFailed') return
    const isWholeFile = name === file
    const why = isWholeFile ? (said.get(name) ?? '') : inspect(error.cause ?? error)
    failed.push(`${place(file)}${isWholeFile ? '' : `: ${name}`}\n${why}`)
  })
  stream.on('test:pass', ({ name, file, skip }) => {
    if (skip !== undefined)
      skipped.push({ file: place(file), name, reason: typeof skip === 'string' ? skip : '' })
  })
  const open = new Set<string>()
  stream.on('test:dequeue', ({ name, file, nesting }) => {
    if (nesting === 0 && name === file) open.add(place(file))
  })
  stream.on('test:complete', ({ name, file, details, nesting }) => {
    if (nesting !== 0 || name !== file) return
    open.delete(place(file))
    times.push({ file: place(file), ms: details.duration_ms })
  })
  stream.on('test:summary', ({ file, counts }) => {
    if (file !== undefined) return
    totals.passed = counts.passed
    totals.failed = counts.tests - counts.passed - counts.skipped - counts.todo
    totals.skipped = counts.skipped
  })
  // node:test bounds a test, but waits without end for a file whose process something keeps alive.
  const giveUp = (): void => {
    failed.push(`no news for ${stallMs / 1000} s; had not ended: ${[...open].join(', ')}`)
    watchdog.abort()
  }
  const timer = setTimeout(giveUp, stallMs)
  for await (const event of stream) {
    timer.refresh()
    onEvent?.(event)
  }
  clearTimeout(timer)
  if (totals.failed > 0 && failed.length === 0) failed.push(`${totals.failed} failed`)
  return { totals, failed, skipped, slowest: times.sort((a, b) => b.ms - a.ms) }
}
