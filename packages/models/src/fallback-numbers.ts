/** How often and how patiently a request is tried: `llm.fallback` of a configuration, the `--retry-…` flags of `agent`. */
import { type CooldownNumbers, DEFAULT_COOLDOWNS } from './classify.ts'
import { fail } from './errors.ts'

export type FallbackNumbers = CooldownNumbers & {
  /** Over all candidates. */
  passes: number
  /** Consecutive failures after which a model is not asked again in its run. */
  failuresPerModel: number
  /** Between passes: doubled with each, the whole of it random. */
  backoffMs: number
  backoffMaxMs: number
  /** Of one request, whatever its candidates are. */
  maxAttempts: number
  /** With nobody left to ask, a cooldown that ends so soon is waited for. 0: never. */
  cooldownWaitMs: number
}

export const DEFAULT_FALLBACK: FallbackNumbers = {
  ...DEFAULT_COOLDOWNS,
  passes: 3,
  failuresPerModel: 3,
  backoffMs: 500,
  backoffMaxMs: 8000,
  maxAttempts: 24,
  cooldownWaitMs: 0,
}
const MAY_BE_ZERO: readonly string[] = ['backoffMs', 'backoffMaxMs', 'cooldownWaitMs']

/** Throws `bad_number`. */
export function fallbackNumbers(given: Partial<FallbackNumbers>): FallbackNumbers {
  for (const [name, value] of Object.entries(given)) {
    const least = MAY_BE_ZERO.includes(name) ? 0 : 1
    if (!Number.isSafeInteger(value) || value < least)
      throw fail('bad_number', { name: `fallback.${name}`, value, expected: `a whole number from ${least}` })
  }
  return { ...DEFAULT_FALLBACK, ...given }
}
