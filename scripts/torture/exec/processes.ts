/** What runs below a process, zombies too, as the kernel lists it now. */
import { readdirSync, readFileSync } from 'node:fs'

export function descendantsOf(root: number): string[] {
  const children = new Map<number, { pid: number; name: string }[]>()
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const stat = statOf(pid)
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), { pid, name: stat.name }])
  }
  const found: string[] = []
  const visit = (parent: number): void => {
    for (const { pid, name } of children.get(parent) ?? []) {
      found.push(`${pid} ${name}`)
      visit(pid)
    }
  }
  visit(root)
  return found
}

function statOf(pid: number): { parent: number; name: string } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const end = text.lastIndexOf(')')
    return { name: text.slice(text.indexOf('(') + 1, end), parent: Number(text.slice(end + 2).split(' ')[1]) }
  } catch {
    return null // gone between two looks
  }
}
