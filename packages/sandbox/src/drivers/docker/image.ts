/** Which image a sandbox gets: ours where it is built from these very sources, a named one, or this machine's `/usr`. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fail } from '../../errors.ts'
import { type HostUsr, hostUsr } from '../host-usr.ts'
import type { Engine } from './engine.ts'
import { REPOSITORY, skeletonImage } from './skeleton.ts'

export const HOST_USR = 'host-usr'
const OURS = [REPOSITORY, `${REPOSITORY}:latest`]
// From a bundle, from its chunks, and from `src/drivers/docker/`.
const SOURCES = ['../../../sandbox-image/', '../../../../sandbox-image/', '../../../../../sandbox-image/']
const DIGEST_CHARS = 12

export type Image = { name: string; usr: HostUsr | null; note: string }

export async function resolveImage(
  engine: Engine,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<Image> {
  if (wanted === HOST_USR) return await fromHost(engine, "this machine's /usr", signal)
  if (wanted !== undefined && !OURS.includes(wanted)) {
    if (await engine.hasImage(wanted, signal)) return { name: wanted, usr: null, note: '' }
    throw fail('image_missing', { image: wanted })
  }
  const name = `${REPOSITORY}:${imageTag() ?? 'latest'}`
  if (await engine.hasImage(name, signal)) return { name, usr: null, note: '' }
  return await fromHost(
    engine,
    `this machine's /usr, since ${name} is not built: sandbox-image/build-local.sh`,
    signal,
  )
}

async function fromHost(engine: Engine, note: string, signal: AbortSignal): Promise<Image> {
  const usr = hostUsr()
  return { name: await skeletonImage(engine, usr, signal), usr, note }
}

/**
 * The tag of the image that these sources make, as `sandbox-image/build-local.sh` computes it: SHA-256 over the files of the
 * folder but documents, in the order of their names. Null in an installation without them.
 */
export function imageTag(): string | null {
  const folder = SOURCES.map(place => fileURLToPath(new URL(place, import.meta.url))).find(path =>
    existsSync(`${path}/build-local.sh`),
  )
  if (!folder) return null
  const hash = createHash('sha256')
  const names = readdirSync(folder).filter(name => !name.endsWith('.md'))
  for (const name of names.sort()) hash.update(readFileSync(`${folder}/${name}`))
  return hash.digest('hex').slice(0, DIGEST_CHARS)
}
