/** The logins of pi-ai: PKCE with a loopback callback, or a device code. Loaded when one is used. */
import type { AuthInteraction, OAuthAuth, OAuthCredential } from '@earendil-works/pi-ai'
import { fail } from '../errors.ts'
import type { Fetch } from '../system-fetch.ts'
import { withFetch } from './scoped-fetch.ts'

export const LOGIN_PROVIDERS = ['anthropic', 'github-copilot', 'openai-codex'] as const
export type LoginProvider = (typeof LOGIN_PROVIDERS)[number]

export type Interaction = AuthInteraction & { signal: AbortSignal }

export type LoginFlows = {
  login(provider: LoginProvider, interaction: Interaction): Promise<OAuthCredential>
  /** Throws `RefusedRefresh` where the vendor said no; anything else may pass. */
  refresh(provider: LoginProvider, credential: OAuthCredential, signal: AbortSignal): Promise<OAuthCredential>
  toAuth(provider: LoginProvider, credential: OAuthCredential): ReturnType<OAuthAuth['toAuth']>
}

/** The refresh token is worth nothing any more: only a new login helps. */
export class RefusedRefresh extends Error {}

export function piLoginFlows(send: Fetch): LoginFlows {
  return {
    login: (provider, interaction) =>
      withFetch(send, async () => (await load(provider)).login(interaction, { agentName: 'beige' })),
    refresh(provider, credential, signal) {
      // pi-ai tells a refusal by its text alone.
      let status = 0
      const observed: Fetch = async (input, init) => {
        const response = await send(input, init)
        status = response.status
        return response
      }
      return withFetch(observed, async () => (await load(provider)).refresh(credential, signal)).catch(
        (error: unknown) => {
          if (![400, 401, 403].includes(status)) throw error
          throw new RefusedRefresh(`the vendor answered ${status}`, { cause: error })
        },
      )
    },
    toAuth: async (provider, credential) => (await load(provider)).toAuth(credential),
  }
}

export function isLoginProvider(name: string): name is LoginProvider {
  return LOGIN_PROVIDERS.some(known => known === name)
}

async function load(provider: LoginProvider): Promise<OAuthAuth> {
  switch (provider) {
    case 'anthropic': {
      const { anthropicProvider } = await import('@earendil-works/pi-ai/providers/anthropic')
      return required(anthropicProvider().auth.oauth)
    }
    case 'github-copilot': {
      const { githubCopilotProvider } = await import('@earendil-works/pi-ai/providers/github-copilot')
      return required(githubCopilotProvider().auth.oauth)
    }
    case 'openai-codex': {
      const { openaiCodexProvider } = await import('@earendil-works/pi-ai/providers/openai-codex')
      return required(openaiCodexProvider().auth.oauth)
    }
    default:
      return provider satisfies never
  }
}

function required(oauth: OAuthAuth | undefined): OAuthAuth {
  if (oauth === undefined) throw fail('wrong_wire', { model: 'a login', api: 'OAuth' })
  return oauth
}
