/**
 * Virtual keys `bai_v1.<kid>.<payload>.<sig>`: what a program may use instead of a provider's key. The payload says
 * whom it may ask and what it may spend, and is signed (Ed25519), so nobody widens it by changing a file; the list says
 * which are alive, so one can be revoked and a lost list lets nobody in.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Random } from '@beige/protocol'
import { arr, compile, int, nullable, num, obj, opt, type Static, str } from '@earendil-works/pi-schema'
import { readJsonFile, writeJsonFile } from '../home/json-file.ts'

const budget = obj({
  usdPerDay: opt(num({ exclusiveMinimum: 0 })),
  usdPerMonth: opt(num({ exclusiveMinimum: 0 })),
  usd: opt(num({ exclusiveMinimum: 0 })),
  tokensPerDay: opt(int({ minimum: 1 })),
})

const wanted = {
  label: str({ minLength: 1, maxLength: 64 }),
  /** `provider/model`, the name of an agent, or `*` for everything that is configured. */
  models: arr(str({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 256 }),
  budget: nullable(budget),
  /** Requests a minute; null: as for tokens. */
  rpm: nullable(int({ minimum: 1, maximum: 1_000_000 })),
  expiresAt: nullable(int()),
}
/** What a key is made of; also the body of `POST /api/keys`. */
export const newVirtualKey = obj(wanted)
export type NewVirtualKey = Static<typeof newVirtualKey>

const made = { ...wanted, id: str(), createdAt: int() }
const payload = obj(made)
export type VirtualKey = Static<typeof payload>
const checkPayload = compile(payload)

export const listedKey = obj({ ...made, revokedAt: nullable(int()) })
export type ListedKey = Static<typeof listedKey>
const keyFile = obj({
  version: int({ minimum: 1, maximum: 1 }),
  keys: arr(listedKey, { maxItems: 100_000 }),
})
const checkFile = compile(keyFile)

export interface VirtualKeys {
  /** What the key may do; null for a forged, expired, revoked or unlisted one. */
  check(key: string): VirtualKey | null
  list(): readonly ListedKey[]
  /** Durable when it returns; the key is in the answer and nowhere else. */
  create(wanted: NewVirtualKey): { key: string; row: VirtualKey }
  /** False where none of that id is alive. */
  revoke(id: string): boolean
}

const PREFIX = 'bai_v1'
const SHAPE = /^bai_v1\.([0-9a-f]{16})\.([A-Za-z0-9_-]{1,16384})\.([A-Za-z0-9_-]{86})$/
export const MAX_KEY_CHARS = 16_512
const MAX_KNOWN = 10_000

/** `folder` holds the signing key and the list; both are made when first needed. */
export function openVirtualKeys(folder: string, clock: Clock, random: Random): VirtualKeys {
  const path = join(folder, 'virtual-keys.json')
  const rows = new Map<string, ListedKey>()
  for (const row of readJsonFile(path, checkFile, { version: 1, keys: [] }, clock.now()).keys)
    rows.set(row.id, row)
  const save = () => writeJsonFile(path, { version: 1, keys: [...rows.values()] })
  const signing = once(() => signingKey(folder, clock.now()))
  // A signature costs 100 µs to verify and a program sends its key with every request.
  const known = new Map<string, VirtualKey>()

  function verified(key: string): VirtualKey | null {
    const found = known.get(key)
    if (found !== undefined) return found
    const [, kid, body = '', signature = ''] = SHAPE.exec(key) ?? []
    if (kid === undefined || rows.size === 0 || kid !== signing().kid) return null
    const signed = Buffer.from(`${PREFIX}.${kid}.${body}`)
    if (!verify(null, signed, signing().public, Buffer.from(signature, 'base64url'))) return null
    const value: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
    if (!checkPayload.check(value)) return null
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(key, value)
    return value
  }

  return {
    check(key) {
      const found = verified(key)
      if (found === null) return null
      const row = rows.get(found.id)
      if (row === undefined || row.revokedAt !== null) return null
      return found.expiresAt !== null && found.expiresAt <= clock.now() ? null : found
    },
    list: () => [...rows.values()],
    create(wanted) {
      const row = {
        ...wanted,
        id: `k_${Buffer.from(random.bytes(6)).toString('hex')}`,
        createdAt: clock.now(),
      }
      const { kid, private: secret } = signing()
      const signed = `${PREFIX}.${kid}.${Buffer.from(JSON.stringify(row)).toString('base64url')}`
      rows.set(row.id, { ...row, revokedAt: null })
      save()
      return { key: `${signed}.${sign(null, Buffer.from(signed), secret).toString('base64url')}`, row }
    },
    revoke(id) {
      const row = rows.get(id)
      if (row === undefined || row.revokedAt !== null) return false
      rows.set(id, { ...row, revokedAt: clock.now() })
      save()
      return true
    },
  }
}

type Signing = { kid: string; private: KeyObject; public: KeyObject }
const signingFile = compile(obj({ version: int({ minimum: 1, maximum: 1 }), pkcs8: str() }))

function signingKey(folder: string, now: number): Signing {
  const path = join(folder, 'virtual-key-signing.json')
  if (!existsSync(path)) {
    const made = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' })
    writeJsonFile(path, { version: 1, pkcs8: made.toString('base64') })
  }
  const { pkcs8 } = readJsonFile(path, signingFile, { version: 1, pkcs8: '' }, now)
  const secret = createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' })
  const open = createPublicKey(secret)
  const der = open.export({ format: 'der', type: 'spki' })
  return { kid: hash('sha256', der, 'hex').slice(0, 16), private: secret, public: open }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
