/** Runs test files with node:test, a process each, and hands every event on as it comes. */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'

// Tests with engines wait more than they work, but share one disk and one Docker.
const MAX_AT_ONCE = 4
const WAITING = 1
const TEST_TIMEOUT_MS = 300_000
const FILE_LIMIT_MS = 600_000
const MAX_STDERR = 4_000 // characters of one file

export type TestEvent = { type: string; data: unknown }
export type Skipped = { file: string; name: string; reason: string }
export type TestRun = {
  totals: { passed: number; failed: number; skipped: number }
  /** What failed, each with its file, its name and the error. */
  failed: readonly string[]
  skipped: readonly Skipped[]
  /** Time in the tests of each file, the slowest first. */
  slowest: readonly { file: string; ms: number }[]
}

export type TestRequest = {
  root: string
  files: readonly string[]
  onEvent?: (event: TestEvent) => void
  /** How long a file may take before its process is killed; the others go on. */
  fileLimitMs?: number
}

export async function runTests({
  root,
  files,
  onEvent,
  fileLimitMs = FILE_LIMIT_MS,
}: TestRequest): Promise<TestRun> {
  if (files.length === 0)
    return { totals: { passed: 0, failed: 0, skipped: 0 }, failed: [], skipped: [], slowest: [] }
  const stream = run({
    cwd: root,
    files: files.map(file => join(root, file)),
    concurrency: Math.min(availableParallelism() + WAITING, MAX_AT_ONCE),
    execArgv: ['--conditions=beige-source'],
    timeout: TEST_TIMEOUT_MS,
    // A third of the processor time of a test file is reading and stripping TypeScript.
    env: { NODE_COMPILE_CACHE: join(root, '.cache/code'), ...process.env },
  })
  const totals = { passed: 0, failed: 0, skipped: 0 }
  const failed: string[] = []
  const skipped: Skipped[] = []
  const times = new Map<string, number>()
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
  // node:test bounds a test, but waits without end for a file whose process something keeps alive.
  const limits = new Map<string, NodeJS.Timeout>()
  const giveUp = (file: string): void => {
    failed.push(`${place(file)}: had not ended after ${fileLimitMs / 1000} s and was killed`)
    killChild(file)
  }
  stream.on('test:dequeue', ({ name, file, nesting }) => {
    if (nesting === 0 && name === file) limits.set(file, setTimeout(giveUp, fileLimitMs, file))
  })
  stream.on('test:complete', ({ name, file, details, nesting }) => {
    if (nesting !== 0) return
    // Of a process with several files only their tests are counted, not what it takes to load them.
    if (name === file) clearTimeout(limits.get(file))
    else times.set(place(file), (times.get(place(file)) ?? 0) + details.duration_ms)
  })
  stream.on('test:summary', ({ file, counts }) => {
    if (file !== undefined) return
    totals.passed = counts.passed
    totals.failed = counts.tests - counts.passed - counts.skipped - counts.todo
    totals.skipped = counts.skipped
  })
  for await (const event of stream) onEvent?.(event)
  if (totals.failed > 0 && failed.length === 0) failed.push(`${totals.failed} failed`)
  const slowest = [...times].map(([file, ms]) => ({ file, ms })).sort((a, b) => b.ms - a.ms)
  return { totals, failed, skipped, slowest }
}

// The runner hands out no process; its children and their command lines are in /proc.
function killChild(file: string): void {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean)
  for (const pid of children) {
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(file))
      process.kill(Number(pid), 'SIGKILL')
  }
}
