/** One thing that the startup benchmark measures: its time in some runs, its memory in others, and the rows of both. */
import type { Row } from '../bench.ts'
import { rounded } from '../output.ts'
import type { Memory } from '../process-memory.ts'
import { median } from '../quantile.ts'

export type Probe = {
  name: string
  time: () => Promise<void>
  /** Apart from the timing: reading /proc costs time on the same cores. */
  weigh: () => Promise<void>
  rows: () => Row[]
}

export function startupRow(name: string, timesMs: readonly number[], weights: readonly Memory[]): Row {
  return {
    name,
    ms: rounded(median(timesMs)),
    rss_mb: rounded(median(weights.map(({ rssMb }) => rssMb))),
    pss_mb: rounded(median(weights.map(({ pssMb }) => pssMb))),
  }
}
