/** Tools and their arguments, as every wire has them under other names. */
import type { JsonObject, Tool } from '@earendil-works/pi-ai'
import { at, bad, type Json, optional, record, text } from '../json-reader.ts'

const NO_PARAMETERS = { type: 'object', properties: {} }

/** `{name, description, parameters, strict}`. */
export function readFunctionTool(tool: Json, place: string): Tool {
  const parameters = optional(tool, 'parameters', place, record)
  return {
    name: text(tool.name, at(place, 'name')),
    description: optional(tool, 'description', place, text) ?? '',
    parameters: parameters ?? NO_PARAMETERS,
    ...(tool.strict === true ? { constrainedSampling: { type: 'json_schema', strict: 'prefer' } } : {}),
  }
}

/** The text of a JSON object, as a model wrote it once. */
export function readArguments(value: unknown, place: string): JsonObject {
  const written = text(value, place)
  if (written.trim() === '') return {}
  let found: unknown
  try {
    found = JSON.parse(written)
  } catch {
    throw bad(place, 'must be the text of a JSON object')
  }
  return asObject(found, place)
}

export function asObject(value: unknown, place: string): JsonObject {
  if (!isJsonObject(value)) throw bad(place, 'must be a JSON object')
  return value
}

/** What came out of a JSON parser is JSON; only its kind is left to see. */
function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
