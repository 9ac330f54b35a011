/** What the operating system refused, told as every other error is: what failed, why, and what a person can do. */
import { explain } from '@beige/protocol'
import { fail } from './errors.ts'

const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Another program listens there: end it, or set gateway.port',
  EADDRNOTAVAIL: 'It is no address of this machine: set gateway.host',
  EACCES: 'See who may go there, or choose another home with BEIGE_HOME',
  EPERM: 'See who may do that there, or choose another home with BEIGE_HOME',
  EROFS: 'Choose a home that can be written with BEIGE_HOME',
  ENOENT: 'Make what is missing, or choose another home with BEIGE_HOME',
  EEXIST: 'A file lies where a folder is needed: move it, or choose another home with BEIGE_HOME',
  ENOTDIR: 'A file lies where a folder is needed: move it, or choose another home with BEIGE_HOME',
  ENOSPC: 'Make room on the disk of the home',
  EDQUOT: 'Make room in the quota of the home',
  EMFILE: 'Allow more open files: ulimit -n',
  ENFILE: 'Allow more open files on this machine: sysctl fs.file-max',
}

/** Like `explain`, with advice where the system itself said no. */
export function explainSystem(error: unknown): string {
  const advice = ADVICE[systemCode(error) ?? '']
  if (advice === undefined || !(error instanceof Error)) return explain(error)
  return explain(fail('system_refused', { reason: error.message, advice }, error))
}

/** Why a file of the configuration could not be read. */
export function unreadable(error: unknown, path: string): string {
  const code = systemCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return `${path} is not there`
  if (code === 'EACCES' || code === 'EPERM') return `${path} may not be read by this user`
  return explain(error)
}

function systemCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}
