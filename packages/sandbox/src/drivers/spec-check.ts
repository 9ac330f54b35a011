/** Refuses a spec that would make a sandbox other than it says, and names by a digest what makes one. */
import { createHash } from 'node:crypto'
import { isAbsolute, normalize } from 'node:path'
import { fail } from '../errors.ts'
import type { Mount, SandboxSpec } from '../sandbox.ts'

const ID = /^[a-z0-9][a-z0-9-]{0,62}$/
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const LABEL = /^[A-Za-z0-9._/-]{1,128}$/
const MAX_MOUNTS = 128
const MAX_ENV = 1024

// What would hand the host over (the engine's socket lies in /run), and what is the sandbox's own.
const HOST_REFUSED = ['/', '/proc', '/sys', '/dev', '/run', '/var/run', '/boot']
const INSIDE_REFUSED = ['/', '/etc', '/usr', '/tmp', '/home', '/home/agent']
// Nor beneath these: they are ours, or a place that the agent writes, where the way to the mount could be its link (H58).
const INSIDE_CLOSED = ['/proc', '/sys', '/dev', '/beige', '/workspace', '/tools/bin']

export function checkSpec(spec: SandboxSpec): void {
  const bad = (what: string) => fail('bad_spec', { id: spec.id, what })
  if (!ID.test(spec.id)) throw bad('its id must be [a-z0-9][a-z0-9-]{0,62}')
  for (const name of Object.keys(spec.labels))
    if (!LABEL.test(name)) throw bad(`label ${JSON.stringify(name)}`)

  const env = Object.entries(spec.env)
  if (env.length > MAX_ENV) throw bad(`more than ${MAX_ENV} variables`)
  for (const [name, value] of env) {
    if (!ENV_NAME.test(name) || value.includes('\0')) throw bad(`variable ${JSON.stringify(name)}`)
    if (name.startsWith('EXECD_')) throw bad(`${name} would configure execd itself`)
  }

  const { workspaceDir, runDir, socketsDir, launchersDir, mounts, limits } = spec
  for (const path of [workspaceDir, runDir, socketsDir, launchersDir]) {
    if (path !== undefined && !isPlain(path)) throw bad(`${JSON.stringify(path)} is not an absolute path`)
  }
  if (mounts.length > MAX_MOUNTS) throw bad(`more than ${MAX_MOUNTS} mounts`)
  for (const mount of mounts) {
    const what = mountFault(mount)
    if (what) throw bad(what)
  }
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isFinite(value) || value <= 0) throw bad(`limits.${name} must be above 0`)
  }
  if (spec.user?.uid === 0 || spec.user?.gid === 0) throw bad('commands never run as root')
}

function mountFault({ host, inside }: Mount): string | null {
  if (!isPlain(host) || !isPlain(inside))
    return `mount ${JSON.stringify(`${host} at ${inside}`)}: absolute paths only`
  if (HOST_REFUSED.includes(host)) return `mount of ${host}: it would open the host`
  const isClosed = INSIDE_CLOSED.some(path => inside === path || inside.startsWith(`${path}/`))
  const taken = isClosed || INSIDE_REFUSED.includes(inside)
  return taken ? `mount at ${inside}: that place is taken` : null
}

function isPlain(path: string): boolean {
  return (
    isAbsolute(path) &&
    normalize(path) === path &&
    !path.includes('\0') &&
    (path === '/' || !path.endsWith('/'))
  )
}

/** Two sandboxes with one digest are the same one. */
export function specDigest(spec: SandboxSpec, beside: Readonly<Record<string, unknown>>): string {
  const { fence: _, ...lasting } = spec // who opens it makes it no other
  return createHash('sha256')
    .update(canonical({ spec: lasting, beside }))
    .digest('hex')
}

// The order in which somebody wrote an object's keys must not make another sandbox.
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
