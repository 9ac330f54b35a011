/** Prints a test run with node:test's own spec reporter; what was skipped and what was slow comes before its totals. */
import type { Transform } from 'node:stream'
import { spec } from 'node:test/reporters'
import type { Skipped, TestEvent, TestRun } from './run-tests.ts'

const SLOW_FILES = 5

export type Report = { onEvent: (event: TestEvent) => void; end: (run: TestRun) => Promise<void> }

export function startReport(out: NodeJS.WritableStream): Report {
  const body = new spec()
  body.pipe(out, { end: false })
  const totals: TestEvent[] = []
  return {
    onEvent(event) {
      if (isTotal(event)) totals.push(event)
      else body.write(event)
    },
    async end(run) {
      await ended(body) // prints the failures once more
      out.write(`\n${describeSkipped(run.skipped)}${describeSlow(run)}`)
      const last = new spec()
      last.pipe(out, { end: false })
      for (const event of totals) last.write(event)
      await ended(last)
    },
  }
}

/** One line for each reason, with the names of the tests that did not run for it. */
export function describeSkipped(skipped: readonly Skipped[]): string {
  if (skipped.length === 0) return 'nothing was skipped\n'
  const byReason = Map.groupBy(skipped, ({ reason }) => reason || 'no reason given')
  return [...byReason]
    .map(([reason, tests]) => {
      const names = tests.map(({ file, name }) => `  - ${name} (${file})\n`)
      return `skipped, ${reason}: ${tests.length}\n${names.join('')}`
    })
    .join('')
}

function describeSlow({ slowest }: TestRun): string {
  const times = slowest.slice(0, SLOW_FILES).map(({ file, ms }) => `${file} ${(ms / 1000).toFixed(1)} s`)
  return `slowest: ${times.join(', ')}\n`
}

// The totals of the whole run are the diagnostics that belong to no file.
function isTotal({ type, data }: TestEvent): boolean {
  if (type !== 'test:diagnostic' || typeof data !== 'object' || data === null) return false
  return Reflect.get(data, 'file') === undefined && Reflect.get(data, 'nesting') === 0
}

function ended(stream: Transform): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.on('end', resolve)
    stream.on('error', reject)
    stream.end()
  })
}
