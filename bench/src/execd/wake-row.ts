/** Row `wake`: from asleep to the answer of the first call, of a paused Docker sandbox. */
import { join } from 'node:path'
import { chooseDriver } from '@beige/sandbox'
import type { Row } from '../bench.ts'
import { quantile } from '../quantile.ts'
import { benchSpec } from '../sandbox-spec.ts'

const TIMES = 100

export async function wakeRow(folder: string, signal: AbortSignal): Promise<Row> {
  const driver = await chooseDriver({ kind: 'docker' }, signal)
  const id = `bench-${process.pid}-wake`
  const sandbox = await driver.open(await benchSpec(join(folder, id), id), signal)
  const times: number[] = []
  try {
    while (times.length < TIMES) {
      if ((await sandbox.sleep()) !== 'asleep') continue
      const from = performance.now()
      await sandbox.wake()
      await sandbox.exec.stat('/tmp', signal)
      times.push(performance.now() - from)
    }
  } finally {
    await sandbox.close()
  }
  return { name: 'wake', p50_ms: quantile(times, 0.5), p99_ms: quantile(times, 0.99) }
}
