/** Follows a process tree while it runs and keeps the most memory it ever held. */
import { type Memory, memoryOf, treeOf } from './process-memory.ts'

const SAMPLE_MS = 10
const PSS_EVERY = 4 // samples

export type PeakWatch = { stop: () => Memory }

/** Processes stay watched when they leave the tree: a sandbox is handed to init when its agent ends. */
export function watchPeak(pid: number): PeakWatch {
  const known = new Set<number>()
  const peak: Memory = { rssMb: 0, pssMb: 0 }
  let samples = 0
  const sample = (): void => {
    for (const member of treeOf(pid)) known.add(member)
    const now = memoryOf(known, samples % PSS_EVERY === 0)
    peak.rssMb = Math.max(peak.rssMb, now.rssMb)
    peak.pssMb = Math.max(peak.pssMb, now.pssMb)
    samples += 1
  }
  sample()
  const timer = setInterval(sample, SAMPLE_MS)
  return {
    stop() {
      clearInterval(timer)
      return peak
    },
  }
}
