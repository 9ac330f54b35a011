/** A configuration after every check: defaults applied, paths absolute, secrets read. Only memory holds it. */
import type { Budget, FallbackNumbers } from '@beige/models'
import type { PluginManifest } from '@beige/plugin-sdk'
import type { ModelChoice, ProviderSection } from '@beige/protocol'
import type { DriverName, Mount, SandboxSpec } from '@beige/sandbox'

export type KnownSecret = { name: string; value: string }

export type ProviderConfig = Omit<ProviderSection, 'apiKey' | 'auth' | 'headers'> & {
  name: string
  /** Null where the provider takes none. */
  apiKey: string | null
  headers: Readonly<Record<string, string>>
}

export type PluginConfig = {
  name: string
  folder: string
  manifest: PluginManifest
  /** The base configuration: the manifest's defaults under the file's `config`. */
  config: Readonly<Record<string, unknown>>
  required: boolean
}

export type Limits = Pick<Budget, 'usdPerDay' | 'usdPerMonth' | 'tokensPerDay'>

export type LlmConfig = { fallback: Partial<FallbackNumbers>; budget: Limits | null }

export type SandboxConfig = {
  /** Null: docker where an engine answers, else bubblewrap. */
  driver: DriverName | null
  url: string | null
  headers: Readonly<Record<string, string>>
  image: string | null
  network: 'none' | 'open'
  limits: SandboxSpec['limits']
  /** An idle container is paused after so long, and woken by the next call; 0: never. */
  idlePauseMs: number
  mounts: readonly Mount[]
  env: Readonly<Record<string, string>>
}

export type AgentConfig = {
  name: string
  model: ModelChoice
  /** Asked in this order when `model` can not answer. */
  fallbackModels: readonly ModelChoice[]
  /** Everything that may be asked on its behalf; the two above are among them. */
  allowModels: readonly ModelChoice[]
  budget: Limits | null
  /** Requests to a model in one prompt. */
  turnsPerPrompt: number
  /** Plugin tools of its list, without target; the core four are not among them. */
  tools: readonly string[]
  /** Each plugin's configuration as this agent's calls see it. */
  pluginConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Null: the default below the home. */
  workspaceDir: string | null
  instructionsFile: string | null
  sandbox: SandboxConfig
}

export type GatewaySettings = {
  host: string
  port: number
  tls: { cert: string; key: string } | null
  publicHosts: readonly string[]
  origins: readonly string[]
  maxBodyBytes: number
  requestsPerMinute: number
  drainMs: number
  log: { level: 'debug' | 'info' | 'warn' | 'error'; maxSizeBytes: number; maxFiles: number }
  audit: { maxSizeBytes: number; args: 'redacted' | 'hash' }
}

export type GatewayConfig = {
  file: string
  providers: readonly ProviderConfig[]
  llm: LlmConfig
  plugins: readonly PluginConfig[]
  agents: readonly AgentConfig[]
  gateway: GatewaySettings
  secrets: readonly KnownSecret[]
  /** They leave the process's environment once the configuration is read. */
  secretVariables: ReadonlySet<string>
}
