/**
 * The shape of `config.json5` (design page "Gateway", Configuration). A key is here when what it does exists; every
 * other key is an error, so that a typo never silently does nothing (H100).
 */
import {
  arr,
  bool,
  int,
  lit,
  map,
  num,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  union,
  unsafe,
} from '@earendil-works/pi-schema'

/** Annotations that the loader looks for; to the validator they say nothing. */
export const SECRET_FORMAT = 'secret'
export const PATH_FORMAT = 'path'

const path = (description?: string) =>
  str({ minLength: 1, format: PATH_FORMAT, ...(description === undefined ? {} : { description }) })
const secretText = str({ format: SECRET_FORMAT })
const secret = union([
  secretText,
  obj({ file: path() }),
  obj({ command: arr(str({ minLength: 1 }), { minItems: 1 }) }),
])
export type SecretSource = Static<typeof secret>

export const providerApi = oneOf([
  'anthropic-messages',
  'openai-completions',
  'openai-responses',
  'google-generative-ai',
  'mistral-conversations',
])
export const thinkingLevel = oneOf(['off', 'minimal', 'low', 'medium', 'high'])
export const sandboxDriver = oneOf(['docker', 'bubblewrap', 'remote', 'host'])

const customModel = obj({
  id: str({ minLength: 1 }),
  name: opt(str({ minLength: 1 })),
  contextWindow: int({ minimum: 1 }),
  maxTokens: int({ minimum: 1 }),
  reasoning: opt(bool()),
  input: opt(arr(oneOf(['text', 'image']))),
  /** USD per million tokens. */
  cost: opt(
    obj({
      input: num({ minimum: 0 }),
      output: num({ minimum: 0 }),
      cacheRead: opt(num({ minimum: 0 })),
      cacheWrite: opt(num({ minimum: 0 })),
    }),
  ),
})

const provider = obj({
  apiKey: opt(secret),
  auth: opt(oneOf(['apiKey', 'none'])),
  baseUrl: opt(str({ minLength: 1 })),
  api: opt(providerApi),
  headers: opt(map(secretText)),
  models: opt(arr(customModel)),
  /** Requests at once, all its models together; -1: no limit. 0 is refused: it would wait for ever. */
  concurrency: opt(int({ minimum: -1, default: -1 })),
  timeouts: opt(
    obj({
      /** Keep-alive bytes count for `idleMs`, not for the first token. */
      firstTokenMs: opt(int({ minimum: 1, default: 600_000 })),
      idleMs: opt(int({ minimum: 1, default: 300_000 })),
    }),
  ),
  insecure: opt(bool()),
})

const plugin = obj({
  path: path('Folder of the plugin, with its plugin.json'),
  enabled: opt(bool({ default: true })),
  required: opt(bool({ default: false })),
  config: opt(unsafe<Record<string, unknown>>({ type: 'object' })),
})

const mount = obj({
  host: path(),
  container: str({ minLength: 1 }),
  mode: opt(oneOf(['ro', 'rw'])),
})

const sandbox = obj({
  driver: opt(sandboxDriver),
  url: opt(str({ minLength: 1 })),
  headers: opt(map(secretText)),
  image: opt(str({ minLength: 1 })),
  unsafe: opt(bool()),
  memoryLimit: opt(str({ pattern: '^[1-9][0-9]*[kmg]?$', default: '3g' })),
  cpus: opt(num({ exclusiveMinimum: 0, default: 2 })),
  pids: opt(int({ minimum: 16, default: 512 })),
  tmpMb: opt(int({ minimum: 1, default: 512 })),
  files: opt(int({ minimum: 64, default: 4096 })),
  idlePauseMs: opt(int({ minimum: 0, maximum: 2_147_483_647, default: 600_000 })),
  network: opt(oneOf(['none', 'open'])),
  extraMounts: opt(arr(mount, { maxItems: 64 })),
  extraEnv: opt(map(str())),
})

const modelChoice = obj({
  provider: str({ minLength: 1 }),
  model: str({ minLength: 1 }),
  thinkingLevel: opt(thinkingLevel),
})

/** Of one day or month of UTC, by everybody it is about together. */
const limits = {
  usdPerDay: opt(num({ exclusiveMinimum: 0 })),
  usdPerMonth: opt(num({ exclusiveMinimum: 0 })),
  tokensPerDay: opt(int({ minimum: 1 })),
}

const fallback = obj({
  passes: opt(int({ minimum: 1, maximum: 10, default: 3 })),
  failuresPerModel: opt(int({ minimum: 1, maximum: 100, default: 3 })),
  backoffMs: opt(int({ minimum: 0, maximum: 60_000, default: 500 })),
  backoffMaxMs: opt(int({ minimum: 0, maximum: 600_000, default: 8000 })),
  hardCooldownMs: opt(int({ minimum: 1000, default: 300_000 })),
  softCooldownMs: opt(int({ minimum: 1000, default: 60_000 })),
  maxCooldownMs: opt(int({ minimum: 1000, default: 21_600_000 })),
})

const agent = obj({
  model: modelChoice,
  fallbackModels: opt(arr(modelChoice, { maxItems: 16 })),
  /** What a session may switch to; default: `model` and `fallbackModels`, which have to be among them. */
  allowModels: opt(arr(modelChoice, { maxItems: 256 })),
  budget: opt(obj({ ...limits, turnsPerPrompt: opt(int({ minimum: 1, maximum: 100_000, default: 200 })) })),
  tools: arr(str({ minLength: 1 }), { maxItems: 256 }),
  pluginConfigs: opt(map(unsafe<Record<string, unknown>>({ type: 'object' }))),
  workspaceDir: opt(path('Folder that the agent works in; default: below the home')),
  instructionsFile: opt(path('Text that is put at the end of the system prompt')),
  sandbox: opt(sandbox),
})

const MIB = 1_048_576
const gateway = obj({
  host: opt(str({ minLength: 1, default: '127.0.0.1' })),
  port: opt(int({ minimum: 0, maximum: 65_535, default: 7433 })),
  tls: opt(obj({ cert: path(), key: path() })),
  publicHosts: opt(arr(str({ minLength: 1 }))),
  origins: opt(arr(str({ minLength: 1 }))),
  maxBodyBytes: opt(int({ minimum: 1024, maximum: 256 * MIB, default: 8 * MIB })),
  requestsPerMinute: opt(int({ minimum: 1, default: 600 })),
  drainMs: opt(int({ minimum: 0, maximum: 600_000, default: 10_000 })),
  log: opt(
    obj({
      level: opt(oneOf(['debug', 'info', 'warn', 'error'])),
      maxSizeBytes: opt(int({ minimum: 65_536, default: 10 * MIB })),
      maxFiles: opt(int({ minimum: 1, maximum: 100, default: 5 })),
    }),
  ),
  audit: opt(
    obj({
      maxSizeBytes: opt(int({ minimum: 65_536, default: 10 * MIB })),
      args: opt(oneOf(['redacted', 'hash'])),
    }),
  ),
})

export const configSchema = obj({
  $schema: opt(str()),
  version: opt(lit(1)),
  llm: obj({ providers: map(provider), fallback: opt(fallback), budget: opt(obj(limits)) }),
  plugins: opt(map(plugin)),
  agents: map(agent),
  gateway: opt(gateway),
})
export type ConfigDocument = Static<typeof configSchema>
export type ModelChoice = Static<typeof modelChoice>
export type ProviderSection = ConfigDocument['llm']['providers'][string]
export type PluginSection = NonNullable<ConfigDocument['plugins']>[string]
export type AgentSection = ConfigDocument['agents'][string]
export type SandboxSection = NonNullable<AgentSection['sandbox']>
export type GatewaySection = NonNullable<ConfigDocument['gateway']>

/** Names of agents, providers and plugins become folder names, container names and socket paths (H70, H95). */
export const CONFIG_NAME = /^[a-z][a-z0-9-]{0,31}$/
export const RESERVED_NAMES: readonly string[] = ['core', 'self', 'all', 'llm', 'gateway']
export const TOOL_NAME = /^[a-z][a-z0-9-]{0,31}(\.[a-z][a-z0-9_-]{0,31})?$/
export const RESERVED_TOOL_NAMES: readonly string[] = [
  'sh',
  'bash',
  'env',
  'tool-client',
  'execd',
  'read',
  'write',
  'patch',
  'exec',
]
export const CORE_TOOLS = ['read', 'write', 'patch', 'exec'] as const
