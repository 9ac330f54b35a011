/** Token counts in the raw bytes of a stream, for what a library drops: `x_groq`, the usage beside an error. Pure. */
import type { Usage } from '@earendil-works/pi-ai'
import { isObject, parse } from './json.ts'

/** Null when no line of them has a number. Of several the last counts, field by field. */
export function rawUsage(head: string, tail: string): Usage | null {
  // Of a short answer both are the same bytes, which does no harm.
  const found = `${head}\n${tail}`
    .split(/\r\n|\n|\r/)
    .filter(line => line.startsWith('data:') && /usage/i.test(line))
    .flatMap(line => countsIn(parse(line.slice(5))))
  if (found.length === 0) return null
  const merged: Counts = Object.assign({}, ...found)
  const cacheRead = merged.cacheRead ?? 0
  const cacheWrite = merged.cacheWrite ?? 0
  const input = merged.input ?? 0
  const output = merged.output ?? 0
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    ...(merged.cacheWrite1h === undefined ? {} : { cacheWrite1h: merged.cacheWrite1h }),
    ...(merged.reasoning === undefined ? {} : { reasoning: merged.reasoning }),
    totalTokens: input + output + cacheRead + cacheWrite,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  }
}

type Counts = Partial<
  Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'cacheWrite1h' | 'reasoning', number>
>
type Json = Readonly<Record<string, unknown>>

function countsIn(data: unknown): Counts[] {
  if (!isObject(data)) return []
  const choice = Array.isArray(data.choices) ? data.choices[0] : undefined
  const places = [data, data.message, data.response, data.x_groq, data.error, choice].filter(isObject)
  return places.flatMap(place => {
    if (isObject(place.usageMetadata)) return google(place.usageMetadata)
    return isObject(place.usage) ? openAiOrAnthropic(place.usage) : []
  })
}

function google(usage: Json): Counts[] {
  const cacheRead = number(usage.cachedContentTokenCount) ?? 0
  const reasoning = number(usage.thoughtsTokenCount)
  const output = (number(usage.candidatesTokenCount) ?? 0) + (reasoning ?? 0)
  const input = (number(usage.promptTokenCount) ?? 0) - cacheRead
  return counted({ input, output, cacheRead, reasoning })
}

function openAiOrAnthropic(usage: Json): Counts[] {
  const details = part(usage, 'prompt_tokens_details') ?? part(usage, 'input_tokens_details') ?? {}
  const outputDetails = part(usage, 'completion_tokens_details') ?? part(usage, 'output_tokens_details') ?? {}
  const output = number(usage.completion_tokens) ?? number(usage.output_tokens)
  const reasoning = number(outputDetails.reasoning_tokens) ?? number(outputDetails.thinking_tokens)
  const isAnthropic =
    usage.cache_read_input_tokens !== undefined || usage.cache_creation_input_tokens !== undefined
  if (isAnthropic)
    return counted({
      input: number(usage.input_tokens),
      output,
      cacheRead: number(usage.cache_read_input_tokens),
      cacheWrite: number(usage.cache_creation_input_tokens),
      cacheWrite1h: number(part(usage, 'cache_creation')?.ephemeral_1h_input_tokens),
      reasoning,
    })
  const cacheRead =
    number(details.cached_tokens) ?? number(usage.prompt_cache_hit_tokens) ?? number(usage.cached_tokens)
  const cacheWrite = number(details.cache_write_tokens)
  const all = number(usage.prompt_tokens) ?? number(usage.input_tokens)
  const input = all === undefined ? undefined : Math.max(0, all - (cacheRead ?? 0) - (cacheWrite ?? 0))
  return counted({ input, output, cacheRead, cacheWrite, reasoning })
}

function counted(counts: { [K in keyof Counts]: number | undefined }): Counts[] {
  const known = Object.entries(counts).filter(([, value]) => value !== undefined)
  return known.some(([, value]) => value !== 0) ? [Object.fromEntries(known)] : []
}

function part(usage: Json, name: string): Json | undefined {
  const value = usage[name]
  return isObject(value) ? value : undefined
}
function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
