/** Measures a command that only says something and ends, such as `--version`. */
import { watchPeak } from '../memory-peak.ts'
import type { Memory } from '../process-memory.ts'
import { type Probe, startupRow } from './probe.ts'
import type { Launch } from './program.ts'
import { start } from './started.ts'

const SAMPLE_MS = 2 // it lives for some 40 ms

export function commandProbe(name: string, launch: Launch, home: string): Probe {
  const timesMs: number[] = []
  const peaks: Memory[] = []
  const run = async (): Promise<number> => {
    await using started = start(launch, home)
    const { code, endedEpochMs, stderr } = await started.ended
    if (code !== 0) throw new Error(`exit ${code}: ${stderr}`.trim())
    return endedEpochMs - started.startedEpochMs
  }
  return {
    name,
    time: async () => void timesMs.push(await run()),
    async weigh() {
      await using started = start(launch, home)
      using watch = watchPeak(started.pid, SAMPLE_MS)
      await started.ended
      peaks.push(watch.peak)
    },
    rows: () => [startupRow(name, timesMs, peaks)],
  }
}
