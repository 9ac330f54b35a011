/** `models.json` of the operator: what differs for single models. A mistake in it costs a warning, never the start. Pure. */
import { nearest } from '@beige/protocol'
import { isObject, parse } from './json.ts'
import { WIRES, type WireApi } from './provider-table.ts'

export type ModelEntry = {
  id: string
  /** Null: the usual route. */
  baseUrl: string | null
  /** As written: plain, `$VAR`, `${VAR}` or `!command`. */
  apiKey: string | null
  headers: Readonly<Record<string, string>>
  wire: WireApi | null
  /** Tokens. */
  contextWindow: number | null
  /** Tokens. */
  maxOutput: number | null
  reasoning: boolean | null
  vision: boolean | null
}

export type ModelsFile = {
  /** By lower-case id. */
  entries: ReadonlyMap<string, ModelEntry>
  /** What is wrong with it, ready to be shown; never a value of it, which may be a key. */
  warnings: readonly string[]
}

export const NO_MODELS_FILE: ModelsFile = { entries: new Map(), warnings: [] }

const FIELDS = [
  'base_url',
  'api_key',
  'headers',
  'wire',
  'context_window',
  'max_output',
  'reasoning',
  'supports_vision',
]
const WIRE_NAMES: Readonly<Record<string, WireApi>> = {
  ...Object.fromEntries(WIRES.map(wire => [wire, wire])),
  openai: 'openai-completions',
  responses: 'openai-responses',
  anthropic: 'anthropic-messages',
  gemini: 'google-generative-ai',
  google: 'google-generative-ai',
  mistral: 'mistral-conversations',
  bedrock: 'bedrock-converse-stream',
}

export function parseModelsFile(text: string): ModelsFile {
  const data = parse(text)
  if (data === undefined) return { entries: new Map(), warnings: ['it is no JSON, so nothing of it is used'] }
  if (!isObject(data))
    return {
      entries: new Map(),
      warnings: ['it must be one object of models by id, so nothing of it is used'],
    }
  const warnings: string[] = []
  const entries = new Map<string, ModelEntry>()
  for (const [id, value] of Object.entries(data)) {
    if (!isObject(value)) {
      warnings.push(`"${id}" is no object and is left out`)
      continue
    }
    entries.set(
      id.toLowerCase(),
      entryOf(id, value, what => warnings.push(`"${id}": ${what}`)),
    )
  }
  return { entries, warnings }
}

function entryOf(
  id: string,
  value: Readonly<Record<string, unknown>>,
  warn: (what: string) => void,
): ModelEntry {
  for (const name of Object.keys(value)) {
    if (FIELDS.includes(name)) continue
    const [near] = nearest(name, FIELDS)
    warn(`${name} is no field of it${near === undefined ? '' : `, did you mean ${near}?`}`)
  }
  const take = <T>(name: string, isGood: (one: unknown) => one is T, expected: string): T | null => {
    const one = value[name]
    if (one === undefined || isGood(one)) return one ?? null
    warn(`${name} must be ${expected}, and is left out`)
    return null
  }
  const wire = take('wire', isString, 'a name')
  if (wire !== null && WIRE_NAMES[wire] === undefined)
    warn(`wire is none of ${Object.keys(WIRE_NAMES).join(', ')}, and is left out`)
  const entry = {
    id,
    baseUrl: take('base_url', isHttpUrl, 'an http or https URL without a password in it'),
    apiKey: take('api_key', isString, 'a text'),
    headers: take('headers', isTexts, 'an object of texts') ?? {},
    wire: WIRE_NAMES[wire ?? ''] ?? null,
    contextWindow: take('context_window', isCount, 'a whole number above 0'),
    maxOutput: take('max_output', isCount, 'a whole number above 0'),
    reasoning: take('reasoning', isBoolean, 'true or false'),
    vision: take('supports_vision', isBoolean, 'true or false'),
  }
  if (entry.baseUrl === null)
    for (const name of ['api_key', 'wire'] as const)
      if (value[name] !== undefined) warn(`${name} counts only beside a base_url`)
  return entry
}

const isString = (one: unknown): one is string => typeof one === 'string'
const isBoolean = (one: unknown): one is boolean => typeof one === 'boolean'
const isCount = (one: unknown): one is number =>
  typeof one === 'number' && Number.isSafeInteger(one) && one > 0
const isTexts = (one: unknown): one is Record<string, string> =>
  isObject(one) && Object.values(one).every(isString)
function isHttpUrl(one: unknown): one is string {
  const url = isString(one) ? URL.parse(one) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}
