/** Rows `sandboxes-50`: fifty sandboxes of one driver at once, how long each takes to start and what it weighs when idle. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { chooseDriver, type DriverName } from '@beige/sandbox'
import type { Row } from '../bench.ts'
import { containerLabelled, type DockerApi } from '../exec/docker-api.ts'
import { rounded } from '../output.ts'
import { memoryOf, treeOf } from '../process-memory.ts'
import { BENCH_LABEL, benchSpec } from '../sandbox-spec.ts'

export const SANDBOXES = 50
const AT_ONCE = 4
const SETTLE_MS = 2000

export async function sandboxesRow(
  kind: Extract<DriverName, 'docker' | 'bubblewrap'>,
  folder: string,
  api: DockerApi,
  signal: AbortSignal,
): Promise<Row> {
  await using opened = new AsyncDisposableStack()
  const driver = await chooseDriver({ kind }, signal)
  const keys: string[] = []
  let startMs = 0
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < SANDBOXES) {
      const id = `bench-${process.pid}-${kind}-${next++}`
      const spec = await benchSpec(join(folder, id), id)
      const sinceMs = performance.now()
      const sandbox = await driver.open(spec, signal)
      startMs += performance.now() - sinceMs
      opened.defer(() => sandbox.close())
      // What is beside it on the host has one of these in its argv.
      keys.push(kind === 'docker' ? await containerLabelled(api, `${BENCH_LABEL}=${id}`) : spec.workspaceDir)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  await pause(SETTLE_MS, undefined, { signal })
  const pids = new Set(pidsWith(keys).flatMap(treeOf))
  return {
    name: `sandboxes-${SANDBOXES}`,
    driver: kind,
    mb_each: rounded(memoryOf(pids, true).pssMb / SANDBOXES),
    processes_each: rounded(pids.size / SANDBOXES),
    start_ms_each: rounded(startMs / SANDBOXES),
  }
}

/** Processes that show a key: docker's shim in its argv, an execd in bubblewrap in its mounts, as does its bwrap by it. */
function pidsWith(keys: readonly string[]): number[] {
  const shows = (text: string): boolean => keys.some(key => text.includes(key))
  const found = new Set<number>()
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    if (pid === process.pid) continue
    const isOurs = read(pid, 'comm').startsWith('execd') && shows(read(pid, 'mountinfo'))
    if (isOurs || shows(read(pid, 'cmdline'))) found.add(pid)
    const parent = isOurs ? Number(read(pid, 'stat').split(') ').at(-1)?.split(' ')[1]) : 0
    if (parent > 1 && read(parent, 'comm').startsWith('bwrap')) found.add(parent)
  }
  return [...found]
}

function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return '' // gone meanwhile
  }
}
