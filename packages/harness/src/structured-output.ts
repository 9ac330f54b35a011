/**
 * An answer in a given form: the model gives it by calling one more tool, which only such a run has. What it gave is the
 * call's input in the log, so any later owner finds it.
 */
import { type EntryId, messageOf, type PromptBody } from '@beige/protocol'
import type { SessionState } from '@beige/sessions'
import { compile } from '@earendil-works/pi-schema'
import { fail } from './errors.ts'
import type { Tool } from './tool.ts'
import { errorResult } from './tool-pipeline.ts'

export const OUTPUT_TOOL = 'structured_output'
const MAX_DEPTH = 32
const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
// Keywords whose values are schemas: one, a list, or one by name.
const ONE = new Set([
  'items',
  'additionalProperties',
  'not',
  'contains',
  'if',
  'then',
  'else',
  'propertyNames',
])
const LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const MAP = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

export type OutputForm = NonNullable<PromptBody['output']>

/** Throws `bad_schema` for what is no JSON Schema, or refers to one elsewhere. Nothing is ever fetched. */
export function checkOutputForm({ schema }: OutputForm): void {
  if (!isObject(schema)) throw fail('bad_schema', { reason: 'it is no JSON object' })
  const problem = problemOf(schema, '#')
  if (problem !== null) throw fail('bad_schema', { reason: problem })
  try {
    compile(schema)
  } catch (error) {
    throw fail('bad_schema', { reason: messageOf(error) }, error)
  }
}

/** The tool of a run that has to give such an output. `given` is called with each output that has the form. */
export function outputTool(form: OutputForm, given: () => void): Tool {
  const what = form.description ? ` The answer: ${form.description}` : ''
  return {
    name: OUTPUT_TOOL,
    description: `Gives the final answer of this task in the form that was asked for. Call it once, alone and last, when everything else is done.${what}`,
    inputSchema: inputSchema(form),
    idempotent: true,
    mode: 'exclusive',
    effect: () => 'reads',
    run: async input => {
      // The pipeline coerces and checks; a route that did not must not give another form (H34).
      if (!compile(inputSchema(form)).check(input)) return errorResult('invalid_input', 'not in the form')
      given()
      return { content: [{ type: 'text', text: 'Given.' }], isError: false, outcome: 'done', details: {} }
    },
  }
}

/** The form that a run's prompt asks for; null where it asks for none. */
export function outputFormOf(state: SessionState, runId: EntryId): OutputForm | null {
  const entry = state.entries.find(one => one.id === runId)
  return (entry?.kind === 'prompt' && entry.body.output) || null
}

/** What the newest run of `runId` gave in that form; undefined where it has not (yet). */
export function outputOf(state: SessionState, runId: EntryId): { value: unknown } | undefined {
  const form = outputFormOf(state, runId)
  const from = state.entries.findIndex(one => one.id === runId)
  if (!form) return undefined
  const calls = state.entries.slice(from + 1).flatMap(one => (one.kind === 'message' ? one.calls : []))
  const call = calls.findLast(
    ({ name, finished }) => name === OUTPUT_TOOL && finished?.outcome === 'done' && !finished.is_error,
  )
  if (!call) return undefined
  const input: unknown = call.started?.input ?? call.input
  return { value: isWrapped(form) && isObject(input) ? input.value : input }
}

// Providers take objects alone as the input of a tool.
function inputSchema(form: OutputForm): object {
  if (!isWrapped(form) && isObject(form.schema)) return form.schema
  return {
    type: 'object',
    properties: { value: form.schema },
    required: ['value'],
    additionalProperties: false,
  }
}

function isWrapped({ schema }: OutputForm): boolean {
  return !isObject(schema) || schema.type !== 'object'
}

/** The first thing that no JSON Schema says, or says of something elsewhere; null where there is none. */
function problemOf(schema: unknown, where: string, depth = 0): string | null {
  if (typeof schema === 'boolean') return null
  if (!isObject(schema)) return `${where} is no schema`
  if (depth > MAX_DEPTH) return `${where} is too deep`
  for (const name of ['$ref', '$dynamicRef']) {
    const ref = schema[name]
    if (typeof ref === 'string' && !ref.startsWith('#'))
      return `${where}/${name} refers to something outside of it`
  }
  for (const type of [schema.type ?? []].flat())
    if (!TYPES.includes(type)) return `${where}/type has no type ${JSON.stringify(type)}`
  const inner = Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    if (ONE.has(name)) return [[name, value]]
    if (LIST.has(name))
      return Array.isArray(value) ? value.map((one, index) => [`${name}/${index}`, one]) : [[name, value]]
    return MAP.has(name) && isObject(value)
      ? Object.entries(value).map(([key, one]) => [`${name}/${key}`, one])
      : []
  })
  for (const [name, value] of inner) {
    const found = problemOf(value, `${where}/${name}`, depth + 1)
    if (found !== null) return found
  }
  return null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
