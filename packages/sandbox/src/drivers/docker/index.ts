/** Sandboxes as containers of a Docker engine, hardened, and never another container than those with our labels. */
import { createHash } from 'node:crypto'
import { isError } from '@beige/protocol'
import { fail, sandboxErrors } from '../../errors.ts'
import { findExecd } from '../../execd-file.ts'
import type { SandboxDriver, SandboxSpec } from '../../sandbox.ts'
import { INSIDE_WORKSPACE } from '../inside-env.ts'
import { openSandbox, type Place } from '../open-sandbox.ts'
import { openRunFolder, type RunFolder } from '../run-folder.ts'
import { checkSpec, specDigest } from '../spec-check.ts'
import { type Workspace, workspaceOf } from '../workspace.ts'
import { containerConfig } from './container-config.ts'
import { type Container, createEngine, type Engine } from './engine.ts'
import { type Image, resolveImage } from './image.ts'

export const DEFAULT_SOCKET = '/var/run/docker.sock'
const VERSION = '0.1.0' // of the wiring: a container made by another one is made again
const ASK_MS = 3_000 // for an engine to say that it is there
const END_MS = 30_000 // for an engine to remove a container

export type DockerOptions = {
  execdPath?: string
  /** `unix:///path`, as in `DOCKER_HOST`. */
  host?: string
}

export function dockerDriver(options: DockerOptions = {}): SandboxDriver {
  // An engine that can not be used is a reason to choose another driver, so it is told when it is asked for.
  let known: Engine | null = null
  const engineHere = () => {
    known ??= createEngine(socketOf(options.host))
    return known
  }
  return {
    name: 'docker',
    async unavailable(signal) {
      try {
        await engineHere().version(AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]))
        return null
      } catch (error) {
        if (signal.aborted || !isError(error)) throw error
        return { reason: error.message, advice: error.advice || sandboxErrors.no_engine.advice }
      }
    },
    async open(spec, signal) {
      checkSpec(spec)
      const engine = engineHere()
      const workspace = workspaceOf(spec, true)
      const folder = openRunFolder(spec.runDir, findExecd(options.execdPath), workspace.user)
      const image = await resolveImage(engine, spec.image, signal)
      const digest = specDigest(spec, {
        ...{ driver: 'docker', workspace, image: image.name, usr: image.usr },
        ...{ execd: folder.execdDigest, version: VERSION },
      })
      const place = placeOf(spec, folder, workspace, engine, image, digest)
      return await openSandbox(spec, digest, folder, place, signal)
    },
  }
}

function placeOf(
  spec: SandboxSpec,
  folder: RunFolder,
  workspace: Workspace,
  engine: Engine,
  image: Image,
  digest: string,
): Place {
  const name = `beige-${spec.id}`
  const mark = {
    'beige.home':
      spec.labels['beige.home'] ?? createHash('sha256').update(spec.runDir).digest('hex').slice(0, 8),
    'beige.agent': spec.labels['beige.agent'] ?? spec.id,
  }
  const labels = { ...spec.labels, ...mark, 'beige.spec': digest, 'beige.version': VERSION }
  const isOurs = (found: Container) =>
    found.name === name && Object.entries(mark).every(([key, value]) => found.labels[key] === value)
  const deadline = () => AbortSignal.timeout(END_MS)

  return {
    driver: 'docker',
    workspace: INSIDE_WORKSPACE,
    user: workspace.user,
    hardened: true,

    async isRunning({ containerId }, signal) {
      const found = containerId === undefined ? null : await engine.find(containerId, signal)
      return found?.running === true && isOurs(found) && found.labels['beige.spec'] === digest
    },

    async start(record, signal) {
      const config = containerConfig({ spec, folder, workspace, image: image.name, usr: image.usr, labels })
      // Not by the caller's signal: the engine goes on with what a closed connection asked for, and we must know its id.
      const id = await engine.create(name, config, deadline())
      if (id === null) throw fail('foreign_container', { name })
      record({ containerId: id })
      if (signal.aborted) throw fail('aborted', { what: `starting ${name}` })
      await engine.start(id, deadline())
      return { containerId: id }
    },

    // By name, so that one whose record is lost is found as well; by label, so that no other is touched (H71).
    async end(handle) {
      const found = await engine.find(handle?.containerId ?? name, deadline())
      const byName = found ?? (await engine.find(name, deadline()))
      if (byName && isOurs(byName)) await engine.remove(byName.id, deadline())
    },

    async lastWords(handle) {
      const id = handle?.containerId ?? name
      const found = await engine.find(id, deadline())
      if (!found) return 'the container is gone'
      const log = await engine.lastLog(id, deadline())
      return found.running ? log : [found.ended, log].filter(text => text !== '').join(': ')
    },

    pause: {
      async sleep({ containerId = name }) {
        await engine.pause(containerId, deadline())
      },
      async wake({ containerId = name }) {
        const found = await engine.find(containerId, deadline())
        if (found?.paused) await engine.unpause(containerId, deadline())
      },
    },

    async inspect({ containerId = name }, view, signal) {
      const [found, version] = await Promise.all([engine.find(containerId, signal), engine.version(signal)])
      if (!found) throw fail('sandbox_start_failed', { id: spec.id, reason: 'its container is gone' })
      const note = image.note && ` (${image.note})`
      const { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot } = view
      const seen = { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot }
      // Both must say so: the engine's word without what the kernel shows inside, or the reverse, is not "none".
      const network = found.network === 'none' && view.network === 'none' ? 'none' : 'open'
      return {
        ...{ driver: 'docker', place: `docker ${version}, container ${name}, image ${found.image}${note}` },
        ...seen,
        network,
        limits: { ...found.limits, by: 'engine' },
      }
    },
  }
}

function socketOf(host: string | undefined): string {
  if (host === undefined || host === '') return DEFAULT_SOCKET
  if (host.startsWith('unix://')) return host.slice('unix://'.length)
  // A mounted folder of sockets does not reach an engine elsewhere.
  throw fail('no_engine', {
    socket: host,
    reason: 'only an engine on this machine (unix://) can share our sockets',
  })
}
