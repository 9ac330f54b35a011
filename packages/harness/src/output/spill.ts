/**
 * Where the whole output of a command lies that was cut for the model. The name is of the harness's own root `/session`, so
 * it is the same in every sandbox; the bytes are its job's at the endpoint, for as long as that keeps them.
 */
const ROOT = '/session/spill/'
const CALL = /^[A-Za-z0-9._-]{1,128}$/

export function spillPath(callId: string): string {
  return `${ROOT}${callId}`
}

/** For the marker of what was left out. */
export function spillAdvice(callId: string): string {
  return `read ${spillPath(callId)} shows any part of it`
}

/** The call whose output a path names; null for any other path. */
export function spilledCall(path: string): string | null {
  const id = path.startsWith(ROOT) ? path.slice(ROOT.length) : ''
  return CALL.test(id) ? id : null
}
