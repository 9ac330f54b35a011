/** The file of bearer tokens: one a line, `TOKEN [drive|view] [name]`. Read again whenever it has changed. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf, type Random } from '@beige/protocol'
import { fail } from '../errors.ts'

const TOKEN_BYTES = 32
const MAX_FILE_BYTES = 1_048_576
const OTHERS = 0o077

export type TokenRole = 'drive' | 'view'
/** `digest` names it in this process without being it. */
export type KnownToken = { digest: string; role: TokenRole; name: string | null }

export interface Tokens {
  /** Null where nobody gave out this token. In constant time for each line of the file. */
  find(token: string): KnownToken | null
  /** Reads the file again if it has changed. True when tokens went away. A file that can not be read keeps what was known. */
  refresh(): boolean
  has(digest: string): boolean
}

/** Makes the file with one new token where it is missing. Throws `token_file`. */
export function openTokens(path: string, random: Random, warn: (text: string) => void): Tokens {
  create(path, random)
  let version = ''
  let known: readonly (KnownToken & { hash: Buffer })[] = []

  function refresh(): boolean {
    const now = versionOf(path)
    if (now === version) return false
    version = now
    const before = known
    known = read(path)
    return before.some(one => !known.some(other => other.digest === one.digest))
  }

  refresh()
  return {
    find: token => {
      const hash = createHash('sha256').update(token).digest()
      let found: KnownToken | null = null
      for (const one of known) if (timingSafeEqual(one.hash, hash)) found ??= one
      return found
    },
    refresh: () => {
      try {
        return refresh()
      } catch (error) {
        warn(messageOf(error))
        return false
      }
    },
    has: digest => known.some(one => one.digest === digest),
  }
}

function create(path: string, random: Random): void {
  const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, `${token} drive\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return
    throw fail('token_file', { path, reason: messageOf(error) }, error)
  }
}

function versionOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path)
    return `${ino}:${size}:${mtimeMs}`
  } catch (error) {
    throw fail('token_file', { path, reason: messageOf(error) }, error)
  }
}

function read(path: string) {
  const file = openSync(path, 'r')
  try {
    const { mode, size } = fstatSync(file)
    if ((mode & OTHERS) !== 0) throw fail('token_file', { path, reason: 'others may read it (H104)' })
    if (size > MAX_FILE_BYTES) throw fail('token_file', { path, reason: 'it is too large' })
    return readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => parsed(line, path, index + 1))
  } finally {
    closeSync(file)
  }
}

function parsed(line: string, path: string, number: number) {
  const text = line.trim()
  if (text === '' || text.startsWith('#')) return []
  const [token = '', role = 'drive', ...name] = text.split(/\s+/)
  if (role !== 'drive' && role !== 'view') {
    throw fail('token_file', { path, reason: `line ${number}: ${role} is neither drive nor view` })
  }
  const hash = createHash('sha256').update(token).digest()
  const known: KnownToken = { digest: hash.toString('hex'), role, name: name.join(' ') || null }
  return [{ ...known, hash }]
}
