/** As many lanes of each subject as work at once, closed together. */
import type { Lane, Subject } from './subject.ts'

export async function openLanes(
  subjects: readonly Subject[],
  count: number,
): Promise<AsyncDisposable & { lanes: ReadonlyMap<Subject, readonly Lane[]> }> {
  const lanes = new Map<Subject, readonly Lane[]>()
  for (const subject of subjects) {
    lanes.set(subject, await Promise.all(Array.from({ length: count }, () => subject.lane())))
  }
  return {
    lanes,
    async [Symbol.asyncDispose]() {
      await Promise.all([...lanes.values()].flat().map(lane => lane.close()))
    },
  }
}
