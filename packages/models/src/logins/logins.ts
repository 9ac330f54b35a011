/** Stored logins: who is logged in, and a token that works, refreshed once by whichever process comes first. */
import type { Clock } from '@beige/protocol'
import { messageOf } from '@beige/protocol'
import type { Credential, Opened } from '../endpoint.ts'
import { fail } from '../errors.ts'
import { loginIn, type StoredLogin } from './auth-file.ts'
import type { JsonFile } from './json-file.ts'
import {
  type Interaction,
  isLoginProvider,
  LOGIN_PROVIDERS,
  type LoginFlows,
  type LoginProvider,
  RefusedRefresh,
} from './login-flows.ts'

export type LoginState = 'logged_in' | 'logged_out' | 'needs_reauth'

/** What a router takes: `createModelRouter({ logins })`. */
export type UsableLogin = { provider: string; credential: Credential; serves: readonly string[] | null }

export type Logins = {
  /** Without the network. Throws `bad_auth_file`. */
  status(provider: LoginProvider): Promise<LoginState>
  /** Runs the vendor's flow, and keeps what it gives. */
  login(provider: LoginProvider, interaction: Interaction): Promise<void>
  /** False when nobody was logged in. */
  logout(provider: LoginProvider): Promise<boolean>
  /** Those that a request may be made with. Throws `bad_auth_file`. */
  usable(): Promise<UsableLogin[]>
}

const EARLY_MS = 60_000 // a token that ends within a request is no good
const REFRESH_MS = 30_000

export function createLogins(parts: { file: JsonFile; flows: LoginFlows; clock: Clock }): Logins {
  const { file, flows } = parts
  return {
    async status(provider) {
      const login = loginIn(await file.read(), provider)
      if (login === null) return 'logged_out'
      return login.reauth === undefined ? 'logged_in' : 'needs_reauth'
    },
    async login(provider, interaction) {
      const credential = await flows.login(provider, interaction)
      await file.change(async entries => ({ ...entries, [provider]: credential }), interaction.signal)
    },
    async logout(provider) {
      let was = false
      await file.change(async entries => {
        was = entries[provider] !== undefined
        const { [provider]: _gone, ...rest } = entries
        return was ? rest : null
      })
      return was
    },
    async usable() {
      const entries = await file.read()
      return LOGIN_PROVIDERS.flatMap(provider => {
        const login = loginIn(entries, provider)
        if (login === null || login.reauth !== undefined) return []
        return [{ provider, credential: credentialOf(parts, provider, login), serves: modelsOf(login) }]
      })
    },
  }
}

export function loginProvider(name: string): LoginProvider | null {
  return isLoginProvider(name) ? name : null
}

/** A plan may not cover the whole catalogue. */
function modelsOf({ availableModelIds: ids }: StoredLogin): readonly string[] | null {
  return Array.isArray(ids) && ids.every(id => typeof id === 'string') ? ids : null
}

function credentialOf(
  { file, flows, clock }: Parameters<typeof createLogins>[0],
  provider: LoginProvider,
  first: StoredLogin,
): Credential {
  let current = first
  const isFresh = (login: StoredLogin): boolean => login.expires - EARLY_MS > clock.now()

  /** What is stored by now, refreshed if nobody has; `refused` is the token that must not come back. */
  const renewed = async (refused: string | null, signal: AbortSignal | undefined): Promise<StoredLogin> => {
    const entries = await file.change(async before => {
      const stored = loginIn(before, provider)
      if (stored === null) throw fail('needs_login', { provider, what: 'somebody has logged out' })
      // Another process, or another request of this one, was first.
      if (isFresh(stored) && stored.access !== refused) return null
      const limit = AbortSignal.timeout(REFRESH_MS)
      try {
        const fresh = await flows.refresh(
          provider,
          stored,
          signal === undefined ? limit : AbortSignal.any([signal, limit]),
        )
        return { ...before, [provider]: fresh }
      } catch (error) {
        if (!(error instanceof RefusedRefresh)) throw error
        return { ...before, [provider]: { ...stored, reauth: messageOf(error) } }
      }
    }, signal)
    const login = loginIn(entries, provider)
    if (login === null || login.reauth !== undefined)
      throw fail('needs_login', { provider, what: login?.reauth ?? 'the login is gone' })
    return login
  }

  return {
    async open(signal): Promise<Opened> {
      if (!isFresh(current)) current = await renewed(null, signal)
      const { apiKey, baseUrl, headers } = await flows.toAuth(provider, current)
      return {
        key: apiKey ?? current.access,
        ...(baseUrl === undefined ? {} : { baseUrl }),
        ...(headers === undefined ? {} : { headers: textsOf(headers) }),
      }
    },
    async renew(signal) {
      const refused = current.access
      try {
        current = await renewed(refused, signal)
        return current.access !== refused
      } catch {
        return false // the vendor's refusal says it best
      }
    },
  }
}

function textsOf(headers: Readonly<Record<string, string | null | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value == null ? [] : [[name, value]])),
  )
}
