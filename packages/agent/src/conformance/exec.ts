/** `agent conformance exec`: one line a check, or a report as JSON; exit 1 when one failed. */
import { visible } from '@beige/client'
import { type CheckResult, runConformance } from '@beige/sandbox'
import type { ProcessWorld } from '../process-world.ts'
import { stopSignals } from '../stop-signals.ts'
import { conformanceOptions, type RawConformanceOptions } from './exec-options.ts'

const EXIT_FAILED = 1
const MS_WIDTH = 6

export async function conformanceExec(raw: RawConformanceOptions, world: ProcessWorld): Promise<number> {
  const options = await conformanceOptions(raw, world)
  const print = (text: string) => void world.stdout.write(`${text}\n`)
  const stops = stopSignals(world)
  try {
    const { clock, random } = world
    const onResult = raw.json ? () => undefined : (result: CheckResult) => print(lineOf(result))
    const report = await runConformance({ ...options, clock, random, signal: stops.signal, onResult })
    if (raw.json) print(JSON.stringify(report))
    else {
      if (report.skipped > 0) print(`${report.skipped} skipped`)
      print(`${report.passed} passed, ${report.failed} failed`)
    }
    return report.failed === 0 ? 0 : EXIT_FAILED
  } catch (error) {
    const stopped = stops.stopped()
    if (stopped === null) throw error
    return stopped.exitCode
  } finally {
    stops.dispose()
  }
}

function lineOf(result: CheckResult): string {
  const reason = 'reason' in result ? `: ${visible(result.reason)}` : ''
  return `${result.outcome.padEnd(7)} ${String(result.ms).padStart(MS_WIDTH)} ms  ${result.name}${reason}`
}
