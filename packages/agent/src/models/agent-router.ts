/** The router of the `agent` command: keys of the environment, logins and `models.json` of the state directory. */
import {
  createModelRouter,
  type Environment,
  type FallbackNumbers,
  type ModelRouter,
  openModelSources,
  takeProviderVariables,
} from '@beige/models'
import type { ProcessWorld } from '../process-world.ts'
import { VERSION } from '../version.ts'
import type { ModelOptions } from './model-options.ts'

export type AgentRouterParts = {
  options: ModelOptions & { stateDir: string; persistent: boolean }
  world: Pick<ProcessWorld, 'env' | 'clock' | 'random' | 'stderr'>
}

/** Throws what is wrong with a provider, a fallback model or a budget, before anything is asked. */
export async function openAgentRouter({ options, world }: AgentRouterParts): Promise<ModelRouter> {
  const { clock, random } = world
  const env = providerVariables(world.env)
  const warn = (text: string): void => void world.stderr.write(`warning: ${text}\n`)
  const sources = await openModelSources({ directory: options.stateDir, env, clock, warn })
  return createModelRouter({
    env,
    clock,
    random,
    warn,
    ...sources,
    gateway: options.gateway,
    takesUnknownIds: true,
    userAgent: `beige-agent/${VERSION}`,
    fallback: fallbackOf(options),
    request: {
      ...(options.temperature === null ? {} : { temperature: options.temperature }),
      ...(options.cacheLong ? { cacheRetention: 'long' as const } : {}),
      ...(options.thinkingBudgets === null ? {} : { thinkingBudgets: options.thinkingBudgets }),
    },
    ...(options.idleTimeoutMs === null ? {} : { timeouts: { idleMs: options.idleTimeoutMs } }),
    scope: {
      fallbackModels: options.fallbackModels.map(model => ({ model })),
      ...(options.budgetUsd === null ? {} : { budgets: [{ per: 'run', usd: options.budgetUsd }] }),
    },
    ...(options.persistent ? { state: { directory: options.stateDir, isLedgerRead: false } } : {}),
  })
}

const taken = new WeakMap<ProcessWorld['env'], Environment>()

/** Taken out of the process's own environment once, whoever asks first: a second router finds them here. */
function providerVariables(env: ProcessWorld['env']): Environment {
  const before = taken.get(env)
  const found =
    before === undefined ? takeProviderVariables(env) : { ...before, ...takeProviderVariables(env) }
  taken.set(env, found)
  return found
}

/** Retries are passes over the models. A cooldown is waited for as long as a retry would be. */
function fallbackOf({ retry }: ModelOptions): Partial<FallbackNumbers> {
  return {
    passes: retry.maxRetries + 1,
    failuresPerModel: retry.maxRetries + 1,
    backoffMs: retry.baseDelayMs,
    backoffMaxMs: retry.maxBackoffMs,
    cooldownWaitMs: retry.maxBackoffMs,
  }
}
