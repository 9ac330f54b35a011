/** Scripted providers of three wires as a gateway's configuration has them, in front of one model server. */
import { openTestGateway } from '../lifecycle/gateway.fixture.ts'
import type { NewVirtualKey } from '../tokens/virtual-keys.ts'

const model = (id: string) => ({
  id,
  contextWindow: 200_000,
  maxTokens: 8192,
  reasoning: true,
  input: ['text', 'image'],
  cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
})
export const PROVIDER_KEY = 'sk-provider-0123456789abcdef'
const WIRES = {
  one: { api: 'anthropic-messages', path: '' },
  two: { api: 'openai-completions', path: '/v1' },
  three: { api: 'openai-responses', path: '/v1' },
} as const

export function providers(urls: Readonly<Partial<Record<keyof typeof WIRES, string>>>, more: object = {}) {
  const entries = Object.entries(WIRES).flatMap(([name, { api, path }]) => {
    const url = Object.entries(urls).find(([of]) => of === name)?.[1]
    return url === undefined
      ? []
      : [
          [
            name,
            { apiKey: PROVIDER_KEY, baseUrl: url + path, api, models: [model('demo')], ...more },
          ] as const,
        ]
  })
  return Object.fromEntries(entries)
}

export const choice = (provider: string) => ({ provider, model: 'demo' })

export function agent(model: string, fallbacks: readonly string[] = [], more: object = {}) {
  return {
    model: choice(model),
    fallbackModels: fallbacks.map(choice),
    tools: [],
    sandbox: { driver: 'remote', url: 'http://127.0.0.1:9' },
    ...more,
  }
}

/** A gateway whose three providers are all at `url`. */
export async function gatewayAt(
  url: string,
  options: {
    keys?: Readonly<Record<string, Partial<NewVirtualKey>>>
    agents?: Record<string, unknown>
    llm?: Record<string, unknown>
    home?: string
  } = {},
) {
  return openTestGateway(
    {
      llm: { providers: providers({ one: url, two: url, three: url }), ...options.llm },
      agents: { scout: agent('one', ['two', 'three']), ...options.agents },
    },
    options.keys ?? { all: {} },
    options.home,
  )
}
