/** `auth.json`: logins by provider, as pi-ai keeps them. */
import type { OAuthCredential } from '@earendil-works/pi-ai'
import { isObject } from '../json.ts'
import type { JsonEntries } from './json-file.ts'

export const AUTH_FILE = 'auth.json'

/** `reauth`: why the vendor took it back; only a new login helps. */
export type StoredLogin = OAuthCredential & { reauth?: string }

export function loginIn(entries: JsonEntries | null, provider: string): StoredLogin | null {
  const entry = entries?.[provider]
  if (!isObject(entry) || entry.type !== 'oauth') return null
  const { access, refresh, expires, reauth } = entry
  if (typeof access !== 'string' || typeof refresh !== 'string' || typeof expires !== 'number') return null
  return {
    ...entry,
    type: 'oauth',
    access,
    refresh,
    expires,
    ...(typeof reauth === 'string' ? { reauth } : {}),
  }
}
