export type { Budget, BudgetBreach, Payers, Spending } from './budgets.ts'
export { type Classified, type Cooldown, classify, type FailureClass } from './classify.ts'
export {
  createModelRouter,
  HEALTH_FILE,
  LEDGER_FILE,
  type ModelRouterOptions,
  warmUp,
} from './create-router.ts'
export { takeProviderVariables } from './environment.ts'
export { modelErrors } from './errors.ts'
export { DEFAULT_FALLBACK, type FallbackNumbers } from './fallback-numbers.ts'
export type { HealthEntry } from './health-file.ts'
export { type LedgerLine, readLedger } from './ledger.ts'
export type { LimiterHealth } from './limiter.ts'
export { AUTH_FILE } from './logins/auth-file.ts'
export {
  type Interaction,
  LOGIN_PROVIDERS,
  type LoginFlows,
  type LoginProvider,
  piLoginFlows,
} from './logins/login-flows.ts'
export { createLogins, type LoginState, type Logins, loginProvider } from './logins/logins.ts'
export { type PrivateJsonOptions, privateJsonFile } from './logins/private-json-file.ts'
export {
  fuzzyModels,
  isLevel,
  type Level,
  type NamedModel,
  namedModel,
  reasoningOf,
  THINKING_LEVELS,
} from './model-names.ts'
export { loginsIn, MODELS_FILE, type ModelSources, openModelSources } from './model-sources.ts'
export { nodeDisk } from './node-disk.ts'
export type { AppendFile, StateDisk } from './outside.ts'
export type { ModelConfig, ProviderConfig, Timeouts } from './provider-config.ts'
export { PROVIDERS, type ProviderRow, type WireApi } from './provider-table.ts'
export * from './router.ts'
export type { Environment } from './routing-order.ts'
export { newRoutingRun, type RoutingRun } from './routing-run.ts'
export { type Fetch, systemFetch } from './system-fetch.ts'
export type { TokenUsage } from './usage.ts'
export {
  BY_DAY,
  BY_MODEL,
  readUsage,
  type UsageGroup,
  type UsageReport,
  usageJson,
  usageText,
} from './usage-report.ts'
