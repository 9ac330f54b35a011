/** The tenant keys that sessions are sealed with: files named by flags or variables (design page "Sessions", Sealing). */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { BeigeError, messageOf, type Random } from '@beige/protocol'
import { createSealing, dekFromText, type Sealing } from '@beige/sessions'
import { fail } from './errors.ts'
import type { ProcessWorld } from './process-world.ts'

/** As commander gives them. */
export type RawSealingOptions = { dekFile?: string; oldDekFile?: string[]; tenant?: string }

export type SealingChoice = { keyFiles: readonly string[]; tenant: string }

/** Sessions of the `agent` command alone belong to it. */
export const LOCAL_TENANT = 'local'
const TENANT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/
const MAX_KEY_FILE_BYTES = 4096
const OTHERS = 0o077

/** Null when no key is named. The first file's key writes, all read. */
export function sealingChoice(
  raw: RawSealingOptions,
  variable: (name: string) => string | undefined,
): SealingChoice | null {
  const newest = raw.dekFile ?? variable('DEK_FILE')
  const older = raw.oldDekFile ?? variable('OLD_DEK_FILE')?.split(',') ?? []
  const tenant = raw.tenant ?? variable('TENANT') ?? LOCAL_TENANT
  if (!TENANT.test(tenant)) {
    const reason = `${JSON.stringify(tenant)} is none`
    throw fail('bad_value', { name: '--tenant', reason, expected: '1 to 128 of A-Z a-z 0-9 . _ -' })
  }
  if (newest !== undefined) return { keyFiles: [newest, ...older], tenant }
  if (older.length === 0) return null
  const reason = 'an old key only reads'
  throw fail('bad_value', {
    name: '--old-dek-file',
    reason,
    expected: 'the newest key as --dek-file beside it',
  })
}

/** `readsPlain`: also sessions that were never sealed. Throws `key_file`. */
export async function openSealing(
  choice: SealingChoice,
  world: Pick<ProcessWorld, 'cwd' | 'stderr'> & { random: Random },
  options: { readsPlain?: boolean } = {},
): Promise<Sealing> {
  const { keyFiles, tenant } = choice
  const keys: Uint8Array[] = []
  for (const file of keyFiles) keys.push(await keyIn(resolve(world.cwd, file), world))
  return createSealing({ tenant, keys, random: world.random, ...options })
}

async function keyIn(path: string, { stderr }: Pick<ProcessWorld, 'stderr'>): Promise<Uint8Array> {
  try {
    await using file = await open(path, constants.O_RDONLY)
    const { mode } = await file.stat()
    if ((mode & OTHERS) !== 0) stderr.write(`warning: others may read the key file ${path}: chmod 600 it\n`)
    return dekFromText(await headOf(file))
  } catch (error) {
    const reason = error instanceof BeigeError ? String(error.data.reason) : messageOf(error)
    throw fail('key_file', { path, reason }, error)
  }
}

async function headOf(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_KEY_FILE_BYTES), 0, MAX_KEY_FILE_BYTES, 0)
  return buffer.toString('latin1', 0, bytesRead)
}
