/** The providers we know by name: one row is the only place for base URL, header, variable and id prefixes. */
import type { Api, Model } from '@earendil-works/pi-ai'

/** The wires whose library takes our `fetch`, so that every failure keeps its status and headers. */
export const WIRES = [
  'anthropic-messages',
  'openai-completions',
  'openai-responses',
  'google-generative-ai',
  'mistral-conversations',
  'bedrock-converse-stream',
  'openai-codex-responses',
] as const
export type WireApi = (typeof WIRES)[number]

export type KeyHeader = 'bearer' | 'x-api-key' | 'x-goog-api-key'

export type ProviderRow = {
  id: string
  name: string
  /** Null: reached by `AI_BASE_URL` or a login alone. `$AWS_REGION` in it stands for that variable. */
  baseUrl: string | null
  /** Where a login of this provider leads; a token may name another place of the same provider. */
  loginUrl?: string
  /**
   * Of `AI_BASE_URL`, with the path where one host has several rows; the longest that matches wins. `*` is one label of
   * a name.
   */
  hosts: readonly string[]
  /** For ids that the catalogue does not give another wire of the same provider. */
  api: WireApi
  keyIn: KeyHeader
  variable: string | null
  headers?: Readonly<Record<string, string>>
  /** Ids that start so are this provider's own. */
  prefixes: readonly string[]
  /** `+08:00`: of the times without a zone in this vendor's error texts. */
  utcOffset?: string
  /** pi-ai's catalogue of this provider, loaded when its row is used: no one needs all of them. */
  catalogue?: () => Promise<readonly Model<Api>[]>
}

const openAi = { api: 'openai-completions', keyIn: 'bearer', prefixes: [] } as const

export const PROVIDERS: readonly ProviderRow[] = [
  {
    ...openAi,
    id: 'openai',
    name: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    hosts: ['api.openai.com'],
    variable: 'OPENAI_API_KEY',
    prefixes: ['gpt-', 'chatgpt-', 'o1', 'o3', 'o4', 'codex-'],
    catalogue: () => import('@earendil-works/pi-ai/providers/openai.models').then(m => all(m.OPENAI_MODELS)),
  },
  {
    id: 'anthropic',
    name: 'Anthropic',
    baseUrl: 'https://api.anthropic.com',
    hosts: ['api.anthropic.com'],
    api: 'anthropic-messages',
    keyIn: 'x-api-key',
    variable: 'ANTHROPIC_API_KEY',
    prefixes: ['claude-'],
    loginUrl: 'https://api.anthropic.com',
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/anthropic.models').then(m => all(m.ANTHROPIC_MODELS)),
  },
  {
    id: 'google',
    name: 'Google',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    hosts: ['generativelanguage.googleapis.com'],
    api: 'google-generative-ai',
    keyIn: 'x-goog-api-key',
    variable: 'GEMINI_API_KEY',
    prefixes: ['gemini-'],
    catalogue: () => import('@earendil-works/pi-ai/providers/google.models').then(m => all(m.GOOGLE_MODELS)),
  },
  {
    id: 'bedrock',
    name: 'Amazon Bedrock',
    baseUrl: 'https://bedrock-runtime.$AWS_REGION.amazonaws.com',
    hosts: ['bedrock-runtime.*.amazonaws.com'],
    api: 'bedrock-converse-stream',
    keyIn: 'bearer',
    variable: 'AWS_BEARER_TOKEN_BEDROCK',
    prefixes: ['anthropic.', 'amazon.', 'us.', 'eu.', 'apac.', 'global.'],
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/amazon-bedrock.models').then(m => all(m.AMAZON_BEDROCK_MODELS)),
  },
  {
    ...openAi,
    id: 'deepseek',
    name: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com/v1',
    hosts: ['api.deepseek.com'],
    variable: 'DEEPSEEK_API_KEY',
    prefixes: ['deepseek-'],
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/deepseek.models').then(m => all(m.DEEPSEEK_MODELS)),
  },
  {
    ...openAi,
    id: 'mistral',
    name: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    hosts: ['api.mistral.ai'],
    variable: 'MISTRAL_API_KEY',
    prefixes: ['mistral-', 'magistral-', 'devstral-', 'codestral-', 'ministral-'],
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/mistral.models').then(m => all(m.MISTRAL_MODELS)),
  },
  {
    ...openAi,
    id: 'xai',
    name: 'xAI',
    baseUrl: 'https://api.x.ai/v1',
    hosts: ['api.x.ai'],
    variable: 'XAI_API_KEY',
    prefixes: ['grok-'],
    catalogue: () => import('@earendil-works/pi-ai/providers/xai.models').then(m => all(m.XAI_MODELS)),
  },
  {
    ...openAi,
    id: 'openrouter',
    name: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    hosts: ['openrouter.ai'],
    variable: 'OPENROUTER_API_KEY',
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/openrouter.models').then(m => all(m.OPENROUTER_MODELS)),
  },
  {
    ...openAi,
    id: 'groq',
    name: 'Groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    hosts: ['api.groq.com'],
    variable: 'GROQ_API_KEY',
    catalogue: () => import('@earendil-works/pi-ai/providers/groq.models').then(m => all(m.GROQ_MODELS)),
  },
  {
    ...openAi,
    id: 'together',
    name: 'Together',
    baseUrl: 'https://api.together.ai/v1',
    hosts: ['api.together.ai', 'api.together.xyz'],
    variable: 'TOGETHER_API_KEY',
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/together.models').then(m => all(m.TOGETHER_MODELS)),
  },
  {
    ...openAi,
    id: 'fireworks',
    name: 'Fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    hosts: ['api.fireworks.ai'],
    variable: 'FIREWORKS_API_KEY',
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/fireworks.models').then(m => all(m.FIREWORKS_MODELS)),
  },
  {
    ...openAi,
    id: 'cerebras',
    name: 'Cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    hosts: ['api.cerebras.ai'],
    variable: 'CEREBRAS_API_KEY',
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/cerebras.models').then(m => all(m.CEREBRAS_MODELS)),
  },
  {
    ...openAi,
    id: 'huggingface',
    name: 'Hugging Face',
    baseUrl: 'https://router.huggingface.co/v1',
    hosts: ['router.huggingface.co'],
    variable: 'HF_TOKEN',
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/huggingface.models').then(m => all(m.HUGGINGFACE_MODELS)),
  },
  {
    ...openAi,
    id: 'nvidia',
    name: 'NVIDIA',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    hosts: ['integrate.api.nvidia.com'],
    variable: 'NVIDIA_API_KEY',
    headers: { 'NVCF-POLL-SECONDS': '3600' },
    catalogue: () => import('@earendil-works/pi-ai/providers/nvidia.models').then(m => all(m.NVIDIA_MODELS)),
  },
  {
    ...openAi,
    id: 'zai',
    name: 'Z.ai',
    baseUrl: 'https://api.z.ai/api/coding/paas/v4',
    hosts: ['api.z.ai'],
    variable: 'ZAI_API_KEY',
    prefixes: ['glm-'],
    utcOffset: '+08:00',
    catalogue: () => import('@earendil-works/pi-ai/providers/zai.models').then(m => all(m.ZAI_MODELS)),
  },
  {
    ...openAi,
    id: 'openai-codex',
    name: 'ChatGPT plan',
    baseUrl: null,
    loginUrl: 'https://chatgpt.com/backend-api',
    hosts: ['chatgpt.com/backend-api'],
    api: 'openai-codex-responses',
    variable: null,
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/openai-codex.models').then(m => all(m.OPENAI_CODEX_MODELS)),
  },
  {
    ...openAi,
    id: 'github-copilot',
    name: 'GitHub Copilot',
    baseUrl: null,
    loginUrl: 'https://api.individual.githubcopilot.com',
    hosts: ['api.githubcopilot.com', 'api.*.githubcopilot.com'],
    variable: null,
    catalogue: () =>
      import('@earendil-works/pi-ai/providers/github-copilot.models').then(m => all(m.GITHUB_COPILOT_MODELS)),
  },
  {
    id: 'kimi-coding',
    name: 'Kimi for coding',
    baseUrl: null,
    hosts: ['api.kimi.com'],
    api: 'anthropic-messages',
    keyIn: 'bearer',
    variable: null,
    headers: { 'User-Agent': 'KimiCLI/1.5' },
    prefixes: [],
  },
  {
    ...openAi,
    id: 'opencode-go',
    name: 'OpenCode Go',
    baseUrl: null,
    hosts: ['opencode.ai/zen/go'],
    variable: null,
  },
  {
    ...openAi,
    id: 'opencode-zen',
    name: 'OpenCode Zen',
    baseUrl: null,
    hosts: ['opencode.ai/zen'],
    variable: null,
  },
]

export function providerRow(id: string): ProviderRow | undefined {
  return PROVIDERS.find(row => row.id === id)
}

/** The row whose own ids start like this one. */
export function rowByPrefix(modelId: string): ProviderRow | undefined {
  const id = modelId.toLowerCase()
  return PROVIDERS.find(row => row.prefixes.some(prefix => id.startsWith(prefix)))
}

/** The row that a base URL belongs to, so that a proxy-free `AI_BASE_URL` brings its header and wire. */
export function rowByUrl(url: URL): ProviderRow | undefined {
  const place = `${url.host}${url.pathname}`.replace(/\/+$/, '')
  const matches = PROVIDERS.flatMap(row => row.hosts.map(host => ({ row, host }))).filter(({ host }) =>
    isAt(place, host),
  )
  return matches.sort((a, b) => b.host.length - a.host.length)[0]?.row
}

function isAt(place: string, host: string): boolean {
  const [before, after] = host.split('*')
  if (after === undefined) return place === host || place.startsWith(`${host}/`)
  if (!place.startsWith(before ?? '')) return false
  const [label] = place.slice(before?.length).split('.')
  return label !== '' && isAt(place, `${before}${label}${after}`)
}

function all(catalogue: Readonly<Record<string, Model<Api>>>): readonly Model<Api>[] {
  return Object.values(catalogue)
}
