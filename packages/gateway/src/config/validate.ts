/** Checks a document against the schema of the protocol package and says what is wrong in the file's own words. Pure. */

import {
  type ConfigDocument,
  configSchema,
  keysAt,
  nearest,
  type Place,
  placesOfKey,
  schemasAt,
} from '@beige/protocol'
import { compile, type ValidationError } from '@earendil-works/pi-schema'
import type { Problem } from './problem.ts'

const validator = compile(configSchema)

export type Checked = { document: ConfigDocument | null; problems: readonly Problem[] }

/** `document` is null where a problem makes the later checks meaningless for the whole file. */
export function validateDocument(value: unknown): Checked {
  if (validator.check(value)) return { document: value, problems: [] }
  return { document: null, problems: validator.errors(value).map(error => problemOf(error, value)) }
}

function problemOf(error: ValidationError, value: unknown): Problem {
  const place = placeOf(error.path, value)
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownKey(place)
    case 'required':
      return { place, at: 'key', text: 'missing' }
    case 'const':
      return place[0] === 'version'
        ? { place, at: 'value', text: 'a newer version of the configuration than this program knows (1)' }
        : { place, at: 'value', text: error.message }
    case 'enum': {
      const given = valueAt(value, place)
      const choices = schemasAt(configSchema, place).flatMap(kind =>
        Array.isArray(kind.enum) ? kind.enum : [],
      )
      const words = choices.filter(choice => typeof choice === 'string')
      const guess = typeof given === 'string' ? nearest(given, words, 1)[0] : undefined
      const text = `must be one of ${words.join(', ')}`
      return { place, at: 'value', text, ...(guess === undefined ? {} : { suggestion: guess }) }
    }
    default:
      return { place, at: 'value', text: error.message }
  }
}

function unknownKey(place: Place): Problem {
  const name = String(place.at(-1))
  const problem: Problem = { place, at: 'key', text: 'unknown key' }
  const sibling = nearest(name, keysAt(configSchema, place.slice(0, -1)), 1)[0]
  if (sibling !== undefined) return { ...problem, suggestion: sibling }
  const elsewhere = placesOfKey(configSchema, name)
  return elsewhere.length === 1 && elsewhere[0] !== undefined
    ? { ...problem, suggestion: elsewhere[0] }
    : problem
}

/** Steps of a JSON Pointer; an index only where the document has an array. */
export function placeOf(pointer: string, value: unknown): Place {
  const place: (string | number)[] = []
  let current = value
  for (const part of pointer.split('/').slice(1)) {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~')
    place.push(Array.isArray(current) ? Number(step) : step)
    current = valueAt(current, place.slice(-1))
  }
  return place
}

export function valueAt(value: unknown, place: Place): unknown {
  let current = value
  for (const step of place) {
    if (Array.isArray(current)) current = current[Number(step)]
    else if (typeof current === 'object' && current !== null)
      current = Object.getOwnPropertyDescriptor(current, step)?.value
    else return undefined
  }
  return current
}
