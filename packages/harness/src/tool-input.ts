/** Step 1 of the pipeline: loose model input is coerced, then checked strictly; what is wrong is said in one text. */

import { nearest } from '@beige/protocol'
import { type CoercingValidator, compile, type ValidationError } from '@earendil-works/pi-schema'

const MAX_ERRORS = 5 // told in one result; the model mends them and sees the rest

export type Checked = { ok: true; input: unknown } | { ok: false; text: string }

const compiled = new WeakMap<object, CoercingValidator<unknown>>()

/** Checks `input` against the schema of `tool`. Never throws. */
export function checkInput(tool: { name: string; inputSchema: object }, input: unknown): Checked {
  const result = validator(tool.inputSchema).parse(parsed(input))
  if (result.ok) return { ok: true, input: result.value }
  const lines = result.errors.slice(0, MAX_ERRORS).map(error => `- ${describe(error, tool.inputSchema)}`)
  const more = result.errors.length > MAX_ERRORS ? [`- and ${result.errors.length - MAX_ERRORS} more`] : []
  return { ok: false, text: [`invalid input for ${tool.name}:`, ...lines, ...more].join('\n') }
}

function validator(schema: object): CoercingValidator<unknown> {
  const known = compiled.get(schema)
  if (known) return known
  const made: CoercingValidator<unknown> = compile(schema, { coerce: true })
  compiled.set(schema, made)
  return made
}

/** A JSON string where an object is due is one of the commonest slips of models. */
function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return input
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

function describe(error: ValidationError, schema: object): string {
  const where = error.path === '' ? '/' : error.path
  if (error.keyword !== 'additionalProperties') return `${where}: ${error.message}`
  const name = error.path.slice(error.path.lastIndexOf('/') + 1)
  const known = 'properties' in schema && isObject(schema.properties) ? Object.keys(schema.properties) : []
  const guess = nearest(name, known, 1)[0]
  return `${where}: ${error.message}${guess ? ` (did you mean "${guess}"?)` : `; known: ${known.join(', ')}`}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
