/** `agents.<a>.sandbox`: what makes the wall weaker has to be asked for by name; mounts and variables give nothing away. */
import { normalize } from 'node:path'
import type { Place, SandboxSection } from '@beige/protocol'
import { type Mount, parseEndpoint } from '@beige/sandbox'
import { MENDED } from './mend.ts'
import type { Report } from './report.ts'
import type { SandboxConfig } from './resolved.ts'
import type { Surroundings } from './surroundings.ts'
import { isWithin } from './within.ts'

const MIN_MEMORY_BYTES = 64 * 1024 ** 2
const HOST_FOLDERS = ['/proc', '/sys', '/dev', '/run/docker.sock', '/var/run/docker.sock', '/run/podman']
const OUR_TARGETS = ['/beige', '/tools', '/skills', '/workspace', '/proc', '/sys', '/dev']

export function checkSandbox(
  section: SandboxSection,
  place: Place,
  around: Surroundings,
  report: Report,
): SandboxConfig {
  const isUnsafe = section.unsafe === true
  if (section.driver === 'host' && !isUnsafe)
    report.add([...place, 'driver'], '"host" isolates nothing and needs unsafe: true beside it')
  if (section.network === 'open' && !isUnsafe)
    report.add([...place, 'network'], '"open" needs unsafe: true beside it')
  if (section.driver === 'remote' && section.url === undefined)
    report.missing([...place, 'url'], 'driver "remote" needs it')
  if (section.url !== undefined && section.driver !== 'remote')
    report.addKey([...place, 'url'], 'only driver "remote" takes it')
  if (section.url !== undefined && parseEndpoint(section.url) === null)
    report.add([...place, 'url'], 'must be an http or https URL, or unix:/path')
  if (section.driver === 'docker' && section.image === undefined)
    report.missing([...place, 'image'], 'driver "docker" needs it')
  for (const [name, value] of Object.entries(section.headers ?? {})) report.remember(`sandbox.${name}`, value)
  return {
    driver: section.driver ?? null,
    url: section.url ?? null,
    headers: section.headers ?? {},
    image: section.image ?? null,
    network: section.network ?? 'none',
    limits: {
      memoryBytes: memoryBytes(section.memoryLimit ?? '3g', [...place, 'memoryLimit'], report),
      cpus: section.cpus ?? 2,
      pids: section.pids ?? 512,
      tmpBytes: (section.tmpMb ?? 512) * 1024 ** 2,
      files: section.files ?? 4096,
    },
    idlePauseMs: section.idlePauseMs ?? 600_000,
    mounts: checkMounts(section, [...place, 'extraMounts'], around, report),
    env: checkEnv(section, [...place, 'extraEnv'], report),
  }
}

function memoryBytes(text: string, place: Place, report: Report): number {
  const [, digits = '0', unit = ''] = /^(\d+)([kmg]?)$/.exec(text) ?? []
  const factor = { k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[unit] ?? 1
  const bytes = Number(digits) * factor
  if (bytes < MIN_MEMORY_BYTES || !Number.isSafeInteger(bytes)) report.add(place, 'must be at least 64m')
  return bytes
}

function checkMounts(section: SandboxSection, place: Place, around: Surroundings, report: Report): Mount[] {
  const mounts: Mount[] = []
  for (const [index, mount] of (section.extraMounts ?? []).entries()) {
    const hostAt = [...place, index, 'host']
    const insideAt = [...place, index, 'container']
    const host = report.path(hostAt, mount.host)
    if (mount.container === MENDED || host === null) continue
    const real = around.canonical(host)
    const home = around.canonical(around.beigeHome)
    if (real === '/') report.add(hostAt, 'the whole host is no mount')
    else if (isWithin(real, home) || isWithin(home, real))
      report.add(hostAt, 'the home of beige is never shown inside')
    else if (HOST_FOLDERS.some(folder => isWithin(real, folder) || isWithin(around.canonical(folder), real)))
      report.add(hostAt, `${host} gives the host away`)
    const inside = normalize(mount.container)
    if (!inside.startsWith('/') || inside === '/' || /[\u0000-\u001f]/.test(inside))
      report.add(insideAt, 'must be an absolute path')
    else if (OUR_TARGETS.some(target => isWithin(inside, target) || isWithin(target, inside)))
      report.add(insideAt, `${mount.container} is taken`)
    else if (mounts.some(other => other.inside === inside)) report.add(insideAt, `${inside} is given twice`)
    mounts.push({ host, inside, writable: mount.mode === 'rw' })
  }
  return mounts
}

function checkEnv(section: SandboxSection, place: Place, report: Report): Readonly<Record<string, string>> {
  const env = section.extraEnv ?? {}
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) report.addKey([...place, name], 'is no name of a variable')
    else if (/^(BEIGE|EXECD)_/.test(name)) report.addKey([...place, name], 'BEIGE_ and EXECD_ are ours')
    const secret = report.secrets.find(known => known.value === value)
    if (secret) report.add([...place, name], `is the secret ${secret.name}, which may not enter a sandbox`)
  }
  return env
}
