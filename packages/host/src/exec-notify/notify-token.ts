/**
 * `bjn_v1.<payload>.<mac>`: what a sandbox shows when it reports the end of a job. It says which session's jobs it may speak
 * of and for how long; whoever has the key can check it, so any process that shares the key is told.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { compile, int, obj, type Static, str } from '@earendil-works/pi-schema'

export const NOTIFY_KEY_BYTES = 32
const VERSION = 'bjn_v1'
const MAX_TOKEN_CHARS = 4096
const BASE64URL = /^[A-Za-z0-9_-]+$/

/** `exp` in seconds since the epoch; valid while it is not reached. `tenant` is empty outside of service mode. */
const claims = obj({ tenant: str(), session_id: str(), scope: str(), exp: int() })
export type NotifyClaims = Static<typeof claims>
const isClaims = compile(claims).check

export function mintNotifyToken(key: Uint8Array, claims: NotifyClaims): string {
  const { tenant, session_id, scope, exp } = claims
  const payload = Buffer.from(JSON.stringify({ tenant, session_id, scope, exp })).toString('base64url')
  return `${VERSION}.${payload}.${macOf(key, payload).toString('base64url')}`
}

/** Null for whatever none of the keys has made, and for what has expired. Nothing of it is looked at before its mac. */
export function openNotifyToken(
  token: string,
  keys: readonly Uint8Array[],
  nowMs: number,
): NotifyClaims | null {
  const [version, payload = '', mac = '', ...rest] = token.length <= MAX_TOKEN_CHARS ? token.split('.') : []
  if (version !== VERSION || rest.length > 0 || !BASE64URL.test(payload) || !BASE64URL.test(mac)) return null
  const given = Buffer.from(mac, 'base64url')
  const isOurs = keys.some(key => {
    const own = macOf(key, payload)
    return given.length === own.length && timingSafeEqual(given, own)
  })
  if (!isOurs) return null
  const found = parsed(Buffer.from(payload, 'base64url').toString('utf8'))
  return isClaims(found) && nowMs < found.exp * 1000 ? found : null
}

/** The key of a fleet, from the secret that opens its grants: the same on every replica, and nothing to keep. */
export function notifyKeyOf(sealSecret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', sealSecret, new Uint8Array(0), 'bsg_v1 notify', NOTIFY_KEY_BYTES))
}

function macOf(key: Uint8Array, payload: string): Buffer {
  return createHmac('sha256', key).update(`${VERSION}.${payload}`).digest()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
