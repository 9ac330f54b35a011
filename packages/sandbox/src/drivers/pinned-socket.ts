/**
 * The exec socket, held by a descriptor. The sandbox can write where the socket lies, so a path there is opened once, before
 * any command ran, without following a link, and every later connection goes to that very socket (design page "Sandboxes").
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs'

const O_PATH = 0o10000000 // Linux; Node has no name for it
export const SOCKET_NAME = 'exec.sock'

/** Tells one socket from another that was put in its place; the strings are decimal. */
export type SocketIdentity = { dev: string; ino: string; birthNs: string }

export type PinnedSocket = {
  /** `/proc/self/fd/N`: valid in this process until `release`. */
  path: string
  identity: SocketIdentity
  release(): void
}

/** Null where no socket lies (yet), or something else than one. */
export function pinSocket(folder: string): PinnedSocket | null {
  const fd = openBeneath(folder, SOCKET_NAME)
  if (fd === null) return null
  const stat = fstatSync(fd, { bigint: true })
  if (!stat.isSocket()) {
    closeSync(fd)
    return null
  }
  let released = false
  return {
    path: `/proc/self/fd/${fd}`,
    identity: { dev: `${stat.dev}`, ino: `${stat.ino}`, birthNs: `${stat.birthtimeNs}` },
    release() {
      if (!released) closeSync(fd)
      released = true
    },
  }
}

export function sameSocket(a: SocketIdentity, b: SocketIdentity): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.birthNs === b.birthNs
}

// Through the folder's descriptor: its own path may be long or be moved meanwhile.
function openBeneath(folder: string, name: string): number | null {
  let dir: number | null = null
  try {
    dir = openSync(folder, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    return openSync(`/proc/self/fd/${dir}/${name}`, O_PATH | constants.O_NOFOLLOW)
  } catch {
    return null // missing, or a folder that is none: either way no socket of ours
  } finally {
    if (dir !== null) closeSync(dir)
  }
}
