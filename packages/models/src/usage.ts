/** What one request used, from the provider's own numbers wherever they are, and estimated only where there are none. */
import type {
  Api,
  AssistantMessage,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
  Usage,
} from '@earendil-works/pi-ai'
import { calculateCost } from '@earendil-works/pi-ai/models'
import { estimateContextTokens, estimateTextTokens } from '@earendil-works/pi-ai/utils/estimate'
import { rawUsage } from './raw-usage.ts'

export type TokenUsage = {
  /** Without what came from the cache or went to it. */
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** Part of `cacheWrite`: kept for an hour. */
  cacheWrite1h: number
  /** Part of `output`. */
  reasoning: number
  costNanoUsd: number
  /** The provider gave no number for some of it, e.g. because the answer was cut off. */
  isEstimated: boolean
}

export const NO_USAGE: TokenUsage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  reasoning: 0,
  costNanoUsd: 0,
  isEstimated: false,
}
const NANO = 1e9

export type UsageEvidence = {
  model: Model<Api>
  message: AssistantMessage
  context: TranscriptContext
  /** False where nothing was sent, nobody answered, or the answer was an error. */
  isBilled: boolean
  /** The answer came to its end. */
  isWhole: boolean
  /** Of the raw answer. */
  head: string
  tail: string
}

/** Also puts the numbers that the library did not find into the message. */
export function settledUsage(evidence: UsageEvidence): TokenUsage {
  const { model, message } = evidence
  if (tokensOf(message.usage) === 0) {
    const found = rawUsage(evidence.head, evidence.tail)
    if (found !== null) {
      message.usage = found
      calculateCost(model, message.usage)
    }
  }
  if (!evidence.isBilled && tokensOf(message.usage) === 0) return NO_USAGE
  return asTokenUsage(message.usage, completed(evidence))
}

/** What is missing because the answer was cut off, or because the provider does not count; true when that was guessed. */
function completed({ model, message, context, isWhole }: UsageEvidence): boolean {
  const { usage } = message
  const said = generatedTokens(message)
  const hasInput = usage.input + usage.cacheRead + usage.cacheWrite > 0
  const isShort = isWhole ? usage.output === 0 && said > 0 : usage.output < said
  if (hasInput && !isShort) return false
  if (!hasInput) usage.input = estimateContextTokens(context).tokens
  if (isShort) usage.output = said
  usage.totalTokens = tokensOf(usage)
  calculateCost(model, usage)
  return true
}

function generatedTokens(message: AssistantMessage): number {
  const text = message.content.map(block => {
    if (block.type === 'text') return block.text
    return block.type === 'thinking' ? block.thinking : JSON.stringify(block.arguments)
  })
  return estimateTextTokens(text.join(''))
}

function tokensOf(usage: Usage): number {
  return usage.input + usage.output + usage.cacheRead + usage.cacheWrite
}

function asTokenUsage(usage: Usage, isEstimated: boolean): TokenUsage {
  return {
    input: usage.input,
    output: usage.output,
    cacheRead: usage.cacheRead,
    cacheWrite: usage.cacheWrite,
    cacheWrite1h: usage.cacheWrite1h ?? 0,
    reasoning: usage.reasoning ?? 0,
    costNanoUsd: Math.round(usage.cost.total * NANO),
    isEstimated,
  }
}

const RESERVE_MARGIN = 1.2 // what is counted by characters may be more
const RESERVE_EXTRA_TOKENS = 500

/** The most that a request may use: its input, counted generously, and all the output that it is allowed. */
export function reservedUsage(
  model: Model<Api>,
  context: TranscriptContext,
  options: Pick<SimpleStreamOptions, 'maxTokens' | 'cacheRetention'>,
): Reserved {
  const estimate = Math.ceil(estimateContextTokens(context).tokens * RESERVE_MARGIN) + RESERVE_EXTRA_TOKENS
  const input = Math.min(estimate, model.contextWindow)
  const output = Math.min(options.maxTokens ?? model.maxTokens, model.maxTokens)
  const rates = [model.cost, ...(model.cost.tiers ?? [])]
  // What goes to the cache for an hour costs twice the input.
  const longWrite = options.cacheRetention === 'long' ? 2 : 0
  const inputRate = Math.max(
    ...rates.map(rate => Math.max(rate.input, rate.cacheWrite, rate.input * longWrite)),
  )
  const outputRate = Math.max(...rates.map(rate => rate.output))
  return { tokens: input + output, nanoUsd: Math.ceil((input * inputRate + output * outputRate) * 1000) }
}

/** So few tokens are no answer worth paying for. */
const MIN_OUTPUT_TOKENS = 4096

/**
 * How long an answer may be so that the request costs `nanoUsd` at the most; null: as long as it was to be. Where not
 * even a short one can be paid it is null too, and the reservation then fails.
 */
export function affordableOutput(
  model: Model<Api>,
  context: TranscriptContext,
  options: Pick<SimpleStreamOptions, 'maxTokens' | 'cacheRetention'>,
  nanoUsd: number,
): number | null {
  const most = reservedUsage(model, context, options)
  if (most.nanoUsd <= nanoUsd) return null
  const asked = Math.min(options.maxTokens ?? model.maxTokens, model.maxTokens)
  const rates = [model.cost, ...(model.cost.tiers ?? [])]
  const perToken = Math.max(...rates.map(rate => rate.output)) * 1000
  if (perToken <= 0) return null
  const output = asked - Math.ceil((most.nanoUsd - nanoUsd) / perToken)
  return output < MIN_OUTPUT_TOKENS ? null : output
}

export type Reserved = { tokens: number; nanoUsd: number }
