/** What a command in the sandbox sees of its own limits, from the kernel's files: the half of `inspect` no engine can fake. */
import { fail } from '../errors.ts'
import type { ExecClient } from '../exec-client.ts'

export type InsideView = {
  uid: number
  gid: number
  /** Hex mask of what a command may ever have: the bounding set and the permitted set together; zero is none. */
  capabilities: string
  noNewPrivileges: boolean
  seccomp: boolean
  readOnlyRoot: boolean
  network: 'none' | 'open'
  nofile: number | null
  nproc: number | null
  dataBytes: number | null
}

const FILES = ['/proc/self/status', '/proc/self/mountinfo', '/proc/self/limits', '/proc/net/dev']

export async function viewInside(exec: ExecClient, signal: AbortSignal): Promise<InsideView> {
  const { exitCode, stdout, stderr } = await exec.run({ command: 'cat', args: FILES, cwd: '/' }, signal)
  const text = Buffer.from(stdout).toString('utf8')
  if (exitCode !== 0) {
    const reason = `cat exits ${exitCode}: ${Buffer.from(stderr).toString('utf8').trim()}`
    throw fail('endpoint_wrong', { endpoint: 'sandbox', reason })
  }
  return parseView(text)
}

export function parseView(text: string): InsideView {
  const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(text)?.[1] ?? ''
  const mask = (name: string) => BigInt(`0x${field(name) || 'f'}`) // absent counts as something
  const [, uid = '0'] = field('Uid').split('\t') // real, effective, saved, file system
  const [, gid = '0'] = field('Gid').split('\t')
  const limit = (name: string) => {
    const soft = new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(text)?.[1] // absent: unlimited
    return soft === undefined ? null : Number(soft)
  }
  return {
    uid: Number(uid),
    gid: Number(gid),
    capabilities: (mask('CapBnd') | mask('CapPrm')).toString(16),
    noNewPrivileges: field('NoNewPrivs') === '1',
    seccomp: field('Seccomp') === '2',
    readOnlyRoot: rootIsReadOnly(text),
    network: onlyLoopback(text) ? 'none' : 'open',
    nofile: limit('Max open files'),
    nproc: limit('Max processes'),
    dataBytes: limit('Max data size'),
  }
}

// mountinfo: id, parent, dev, root, mount point, mount options; the last mount on `/` is the one that is seen.
function rootIsReadOnly(text: string): boolean {
  const root = [...text.matchAll(/^\d+ \d+ \d+:\d+ \S+ \/ (\S+) /gm)].at(-1)
  return root?.[1]?.split(',').includes('ro') ?? false
}

function onlyLoopback(text: string): boolean {
  const interfaces = [...text.matchAll(/^\s*([^\s:|]+):(?:\s+\d+){16}\s*$/gm)].map(match => match[1])
  return interfaces.every(name => name === 'lo')
}
