/** `auth.json`: logins by provider, as pi-ai keeps them. Several processes of one user change it, one at a time. */
import type { OAuthCredential } from '@earendil-works/pi-ai'
import { fail } from '../errors.ts'
import { isObject, parse } from '../json.ts'

export const AUTH_FILE = 'auth.json'

/** `reauth`: why the vendor took it back; only a new login helps. */
export type StoredLogin = OAuthCredential & { reauth?: string }

/** What is in the file, entries of others included. */
export type AuthEntries = Readonly<Record<string, unknown>>

/** The file of a real process is `nodeAuthFile`. */
export interface AuthFile {
  path: string
  /** Null when there is none. Throws `bad_auth_file`. */
  read(): Promise<AuthEntries | null>
  /**
   * Read, then what `change` makes of it, under a lock that the kernel holds and that ends with its process. Null leaves
   * the file as it is.
   */
  change(
    change: (entries: AuthEntries) => Promise<AuthEntries | null>,
    signal?: AbortSignal,
  ): Promise<AuthEntries>
}

/** Throws `bad_auth_file`: what is damaged is never taken for empty, and never overwritten (H05, H08). */
export function entriesOf(text: string, path: string): AuthEntries {
  const data = parse(text)
  if (isObject(data)) return data
  throw fail('bad_auth_file', { path, what: text.trim() === '' ? 'it is empty' : 'it is no JSON object' })
}

export function loginIn(entries: AuthEntries | null, provider: string): StoredLogin | null {
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
