/**
 * API tokens: `bgt_v1.<id>.<secret>`, 256 random bits, kept as SHA-256 only and shown once. Looked up by id, compared in
 * constant time.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock, Random } from '@beige/protocol'
import { arr, compile, int, nullable, obj, oneOf, str } from '@earendil-works/pi-schema'
import { readJsonFile, writeJsonFile } from '../home/json-file.ts'

export const SCOPES = ['read', 'prompt', 'exec', 'llm', 'approve', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

export const PRESETS: Readonly<Record<string, readonly Scope[]>> = {
  owner: SCOPES,
  client: SCOPES.filter(scope => scope !== 'admin'),
  'read-only': ['read'],
}

const tokenRow = obj({
  id: str(),
  name: str(),
  /** SHA-256, hex, of the whole token. */
  hash: str({ pattern: '^[0-9a-f]{64}$' }),
  scopes: arr(oneOf(SCOPES)),
  /** Null: every agent. */
  agents: nullable(arr(str())),
  createdAt: int(),
  expiresAt: nullable(int()),
})
const tokenFile = obj({
  version: int({ minimum: 1, maximum: 1 }),
  tokens: arr(tokenRow, { maxItems: 10_000 }),
})
const validator = compile(tokenFile)

export type TokenRow = {
  id: string
  name: string
  hash: string
  scopes: Scope[]
  agents: string[] | null
  createdAt: number
  expiresAt: number | null
}
export type NewToken = Pick<TokenRow, 'name' | 'scopes' | 'agents' | 'expiresAt'>

export interface ApiTokens {
  /** The token's row; null for a wrong, unknown or expired one. */
  check(token: string): TokenRow | null
  list(): readonly Omit<TokenRow, 'hash'>[]
  /** Durable when it returns; the secret is in the answer and nowhere else. */
  create(token: NewToken): { token: string; row: TokenRow }
  /** False where there is none of that id. */
  revoke(id: string): boolean
}

const TOKEN_SHAPE = /^bgt_v1\.([0-9a-z]{12})\.([A-Za-z0-9_-]{43})$/

export function openApiTokens(path: string, clock: Clock, random: Random): ApiTokens {
  const rows = new Map<string, TokenRow>()
  for (const row of readJsonFile(path, validator, { version: 1, tokens: [] }, clock.now()).tokens)
    rows.set(row.id, row)
  const save = () => writeJsonFile(path, { version: 1, tokens: [...rows.values()] })
  return {
    check(token) {
      const id = TOKEN_SHAPE.exec(token)?.[1]
      const row = id === undefined ? undefined : rows.get(id)
      // Compared against something in any case, so that an unknown id takes as long as a wrong secret.
      const expected = Buffer.from(row?.hash ?? '0'.repeat(64))
      const isSame = timingSafeEqual(Buffer.from(hash('sha256', token, 'hex')), expected)
      if (!row || !isSame) return null
      return row.expiresAt !== null && row.expiresAt <= clock.now() ? null : row
    },
    list: () => [...rows.values()].map(({ hash: _, ...row }) => row),
    create(wanted) {
      const id = Buffer.from(random.bytes(6)).toString('hex')
      const secret = Buffer.from(random.bytes(32)).toString('base64url')
      const token = `bgt_v1.${id}.${secret}`
      const row = { ...wanted, id, hash: hash('sha256', token, 'hex'), createdAt: clock.now() }
      rows.set(id, row)
      save()
      return { token, row }
    },
    revoke(id) {
      if (!rows.delete(id)) return false
      save()
      return true
    },
  }
}
