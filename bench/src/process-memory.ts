/** Reads from /proc how much memory a process and its descendants take: resident, and its fair share of what is shared. */
import { readdirSync, readFileSync } from 'node:fs'

const KB_A_MB = 1024
const PAGE_KB = 4 // x86-64 and arm64 Debian

export type Memory = { rssMb: number; pssMb: number }

/** `pid` and everything below it, as the kernel lists it now. */
export function treeOf(pid: number): number[] {
  const found = [pid]
  for (const task of listed(`/proc/${pid}/task`)) {
    const children = read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean)
    for (const child of children) found.push(...treeOf(Number(child)))
  }
  return found
}

/** Memory of `pids` together. PSS costs a walk of the page tables, so it is read only where asked for. */
export function memoryOf(pids: Iterable<number>, withPss: boolean): Memory {
  let rssKb = 0
  let pssKb = 0
  for (const pid of pids) {
    rssKb += Number(read(`/proc/${pid}/statm`).split(' ')[1] ?? 0) * PAGE_KB
    if (withPss) pssKb += Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)
  }
  return { rssMb: rssKb / KB_A_MB, pssMb: pssKb / KB_A_MB }
}

// A process may end between two reads: what is gone counts as nothing.
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function listed(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
