/**
 * What a driver keeps on the host for one sandbox: `beige/` (execd and links, shown read-only), `exec/` (where execd makes its
 * socket; the only one that the sandbox can write), `etc/`, and `sandbox.json`, which says whose sandbox runs now.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { arr, compile, int, nullable, obj, opt, type Static, str } from '@earendil-works/pi-schema'
import { isRoot, type User } from './workspace.ts'

const handle = obj({
  containerId: opt(str()),
  pid: opt(int()),
  /** Start time in clock ticks since boot: with the boot's id it tells a process from a later one with its number. */
  startTicks: opt(str()),
  bootId: opt(str()),
  groups: opt(arr(str())),
})
/** How the driver finds again what it started. */
export type Handle = Static<typeof handle>

const state = compile(
  obj({
    version: int({ minimum: 1, maximum: 1 }),
    digest: str(),
    socket: nullable(obj({ dev: str(), ino: str(), birthNs: str() })),
    instance: nullable(str()),
    handle,
  }),
)
/** `socket` is null between the start of a sandbox and the pinning of its socket: such a one is made again. */
export type State = {
  version: 1
  digest: string
  socket: { dev: string; ino: string; birthNs: string } | null
  instance: string | null
  handle: Handle
}

export type RunFolder = {
  path: string
  beige: string
  exec: string
  etc: string
  execdDigest: string
  readState(): State | null
  writeState(next: State): void
  /** A new and empty `exec/`, so that nothing of an ended sandbox lies where the next one listens. */
  renewExec(user: User): void
}

export function openRunFolder(path: string, execdPath: string, user: User): RunFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  const folder = {
    path,
    beige: join(path, 'beige'),
    exec: join(path, 'exec'),
    etc: join(path, 'etc'),
    execdDigest: createHash('sha256').update(readFileSync(execdPath)).digest('hex'),
  }
  const stateFile = join(path, 'sandbox.json')
  fillBeige(folder.beige, execdPath, folder.execdDigest)
  fillEtc(folder.etc, user)
  return {
    ...folder,
    readState: () => readState(stateFile),
    writeState(next) {
      replaceFile(stateFile, JSON.stringify(next), 0o600)
    },
    renewExec({ uid, gid }) {
      rmSync(folder.exec, { recursive: true, force: true })
      mkdirSync(folder.exec, { mode: 0o700 })
      if (isRoot()) chownSync(folder.exec, uid, gid)
    },
  }
}

// Unreadable counts as absent: the driver then ends what carries its label, and makes the sandbox again.
function readState(file: string): State | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return state.check(value) ? { ...value, version: 1 } : null
  } catch {
    return null
  }
}

function fillBeige(beige: string, execdPath: string, digest: string): void {
  for (const name of ['', 'sock', 'exec']) mkdirSync(join(beige, name), { recursive: true, mode: 0o755 })
  const execd = join(beige, 'execd')
  if (digestOf(execd) !== digest) {
    const temp = join(beige, '.execd')
    copyFileSync(execdPath, temp, constants.COPYFILE_FICLONE)
    chmodSync(temp, 0o755)
    renameSync(temp, execd)
  }
  link('execd', join(beige, 'tool-client'))
  link('sock/gateway.sock', join(beige, 'gateway.sock'))
}

function fillEtc(etc: string, { uid, gid }: User): void {
  mkdirSync(etc, { recursive: true, mode: 0o755 })
  const files = {
    passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:${uid}:${gid}:agent:/home/agent:/bin/sh\n`,
    group: `root:x:0:\nagent:x:${gid}:\n`,
    hosts: '127.0.0.1 localhost\n::1 localhost\n',
    hostname: 'sandbox\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    'resolv.conf': '',
  }
  for (const [name, text] of Object.entries(files)) replaceFile(join(etc, name), text, 0o644)
}

function digestOf(file: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return null
  }
}

function link(target: string, path: string): void {
  try {
    symlinkSync(target, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function replaceFile(path: string, text: string, mode: number): void {
  const temp = `${path}.new`
  writeFileSync(temp, text, { mode })
  chmodSync(temp, mode)
  renameSync(temp, path)
}
