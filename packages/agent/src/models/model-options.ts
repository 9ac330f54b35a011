/** The flags about models with their variables and settings: flag, variable, settings, default (agent-cli.md, "Model"). */

import { fail } from '../errors.ts'
import { EFFORTS, expected, isGood, isRecord } from '../settings/fields.ts'
import { countSetting, listSetting, type Settings, textSetting } from '../settings/settings.ts'

export type Effort = (typeof EFFORTS)[number]

/** As commander gives them. */
export type RawModelOptions = {
  model?: string
  fallbackModels?: string
  gatewayUrl?: string
  key?: string
  maxTokens?: string
  budget?: string
  thinking?: string
  reasoningEffort?: string
  temperature?: string
  cacheLong?: boolean
  idleTimeoutMs?: string
  retryMaxRetries?: string
  retryBaseDelayMs?: string
  retryMaxBackoffMs?: string
}

export type ModelOptions = {
  /** Of a session that has none of its own. */
  model: string
  /** Also of one that has; null when no flag says so. */
  modelFlag: string | null
  fallbackModels: readonly string[]
  /** Of flag or setting; the variables are the router's to read. */
  gateway: { url?: string; key?: string }
  /** Of an answer; null: the model's most. */
  maxTokens: number | null
  /** What a run may cost, in USD. */
  budgetUsd: number | null
  /** Flag first; null: `medium` where the model reasons. */
  effort: Effort | null
  /** Also of a session that has one of its own. */
  effortFlag: Effort | null
  /** Tokens a model may think, by effort; a single number of `--thinking` is all of them. */
  thinkingBudgets: Readonly<Partial<Record<Effort, number>>> | null
  temperature: number | null
  cacheLong: boolean
  /** Longest silence in a model's stream. */
  idleTimeoutMs: number | null
  /** How often a request is repeated, the first wait, and the longest. */
  retry: { maxRetries: number; baseDelayMs: number; maxBackoffMs: number }
}

export const DEFAULT_MODEL = 'claude-opus-4-8'
const MIN_OUTPUT_TOKENS = 4096
const MAX_MS = 2 ** 31 - 1

export function modelOptions(
  raw: RawModelOptions,
  variable: (name: string) => string | undefined,
  settings: Settings,
): ModelOptions {
  const url = raw.gatewayUrl === undefined ? undefined : gatewayUrl(raw.gatewayUrl)
  const fromSettings =
    variable('AI_GATEWAY_URL') === undefined ? textSetting(settings, 'gateway_url') : undefined
  const gateway = url ?? fromSettings
  const thinking = raw.thinking === undefined ? null : whole('--thinking', raw.thinking, 1)
  const effortFlag =
    raw.reasoningEffort === undefined ? null : effort('--reasoning-effort', raw.reasoningEffort)
  const effortVariable = variable('REASONING_EFFORT')
  const numbers = numbersOf(raw, variable, settings)
  return {
    model: raw.model ?? variable('MODEL') ?? textSetting(settings, 'model') ?? DEFAULT_MODEL,
    modelFlag: raw.model ?? null,
    fallbackModels:
      named(raw.fallbackModels ?? variable('FALLBACK_MODELS')) ??
      listSetting(settings, 'fallback_models') ??
      [],
    gateway: {
      ...(gateway === undefined ? {} : { url: gateway }),
      ...(raw.key === undefined ? {} : { key: raw.key }),
    },
    maxTokens: optional('--max-tokens', raw.maxTokens ?? variable('MAX_TOKENS'), MIN_OUTPUT_TOKENS),
    budgetUsd: budget(raw.budget ?? variable('BUDGET')),
    effort:
      effortFlag ??
      (effortVariable === undefined ? null : effort('AI_AGENT_REASONING_EFFORT', effortVariable)) ??
      EFFORTS.find(one => one === settings.default_reasoning_effort) ??
      (thinking === null ? null : 'medium'),
    effortFlag: effortFlag ?? (thinking === null ? null : 'medium'),
    thinkingBudgets: thinking === null ? budgetsIn(settings) : everyEffort(thinking),
    temperature: temperature(raw.temperature),
    cacheLong: raw.cacheLong ?? false,
    idleTimeoutMs:
      optional('--idle-timeout-ms', raw.idleTimeoutMs ?? variable('IDLE_TIMEOUT_MS'), 1) ??
      (countSetting(settings, 'provider_timeout_ms') || null),
    ...numbers,
  }
}

function numbersOf(
  raw: RawModelOptions,
  variable: (name: string) => string | undefined,
  settings: Settings,
): Pick<ModelOptions, 'retry'> {
  const number = (said: string | undefined, name: string, otherwise: number): number => {
    const text = said ?? variable(name.toUpperCase())
    if (text !== undefined) return whole(`--${name.replaceAll('_', '-')}`, text, 0)
    return countSetting(settings, name) ?? otherwise
  }
  // No retries at all where somebody has turned them off for good.
  const most = settings.auto_retry === false ? 0 : 3
  return {
    retry: {
      maxRetries: number(raw.retryMaxRetries, 'retry_max_retries', most),
      baseDelayMs: number(raw.retryBaseDelayMs, 'retry_base_delay_ms', 250),
      maxBackoffMs: number(raw.retryMaxBackoffMs, 'retry_max_backoff_ms', 60_000),
    },
  }
}

function named(text: string | undefined): readonly string[] | undefined {
  return text
    ?.split(',')
    .map(one => one.trim())
    .filter(one => one !== '')
}

function gatewayUrl(text: string): string {
  if (isGood({ is: 'url' }, text)) return text
  throw bad('--gateway-url', `${JSON.stringify(text)} is none`, expected({ is: 'url' }))
}

function effort(name: string, text: string): Effort {
  const found = EFFORTS.find(one => one === text)
  if (found !== undefined) return found
  throw bad(name, `${JSON.stringify(text)} is none`, `one of ${EFFORTS.join(', ')}`)
}

function everyEffort(tokens: number): ModelOptions['thinkingBudgets'] {
  return Object.fromEntries(EFFORTS.filter(one => one !== 'off').map(one => [one, tokens]))
}

function budgetsIn(settings: Settings): ModelOptions['thinkingBudgets'] {
  const budgets = settings.thinking_budget
  if (!isRecord(budgets)) return null
  return Object.fromEntries(
    EFFORTS.flatMap(one => {
      const tokens = budgets[one]
      return typeof tokens === 'number' ? [[one, tokens]] : []
    }),
  )
}

function budget(text: string | undefined): number | null {
  if (text === undefined) return null
  const value = Number(text.replace(/^\$/, ''))
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value
  throw bad('--budget', `${JSON.stringify(text)} is none`, 'US dollars above 0, e.g. 1.50')
}

function temperature(text: string | undefined): number | null {
  if (text === undefined) return null
  const value = Number(text)
  if (text.trim() !== '' && value >= 0 && value <= 2) return value
  throw bad('--temperature', `${JSON.stringify(text)} is none`, 'a number from 0 to 2')
}

function optional(name: string, text: string | undefined, from: number): number | null {
  return text === undefined ? null : whole(name, text, from)
}

function whole(name: string, text: string, from: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= from && value <= MAX_MS) return value
  throw bad(name, `${JSON.stringify(text)} is none`, `a whole number from ${from}`)
}

function bad(name: string, reason: string, what: string): Error {
  return fail('bad_value', { name, reason, expected: what })
}
