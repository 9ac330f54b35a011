/** Follows a process tree while it runs and keeps the most memory it ever held. */
import { type Memory, memoryOf, treeOf } from './process-memory.ts'

const SAMPLE_MS = 10
const PSS_EVERY = 4 // samples

/** `peak` is the most so far; watching ends when it is disposed of. */
export type PeakWatch = Disposable & { peak: Memory }

/** Processes stay watched when they leave the tree: a sandbox is handed to init when its agent ends. */
export function watchPeak(pid: number, everyMs = SAMPLE_MS): PeakWatch {
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
  const timer = setInterval(sample, everyMs)
  return { peak, [Symbol.dispose]: () => clearInterval(timer) }
}
