/**
 * Makes a document with mistakes fit the schema, so that the checks across sections can look at the rest of it in the
 * same run. What was mended is only looked at, never used. Pure.
 */

import { type ConfigDocument, configSchema, type Place, schemasAt } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { placeOf, valueAt } from './validate.ts'

/** Stands where a text should be; checks pass over it. */
export const MENDED = '\u0000mended'

const MAX_PASSES = 24
const PATIENT_PASSES = 6
const validator = compile(configSchema)

/** Null where even the sections are of the wrong kind. */
export function mendDocument(value: unknown): ConfigDocument | null {
  const root: unknown = { document: structuredClone(value) }
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const document = valueAt(root, ['document'])
    if (validator.check(document)) return document
    for (const error of validator.errors(document)) {
      const place = placeOf(error.path, document)
      // A place that resists goes with what it is in.
      const above = Math.max(0, pass - PATIENT_PASSES)
      const from = place.slice(0, Math.max(0, place.length - above))
      mendAt(root, ['document', ...from], error.keyword === 'required' && above === 0)
    }
  }
  return null
}

function mendAt(root: unknown, place: Place, isMissing: boolean): void {
  const holder = valueAt(root, place.slice(0, -1))
  const step = place.at(-1)
  if (typeof holder !== 'object' || holder === null || step === undefined) return
  const filler = fillerFor(place.slice(1))
  if (isMissing || typeof step === 'number' || Array.isArray(holder) || place.length === 1)
    Object.defineProperty(holder, step, {
      value: filler,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  else Reflect.deleteProperty(holder, step)
}

function fillerFor(place: Place): unknown {
  const kinds = schemasAt(configSchema, place)
  const types = kinds.map(kind => kind.type)
  if (types.includes('object')) return {}
  if (types.includes('array')) return []
  if (types.includes('string')) return MENDED
  const choices = kinds.flatMap(kind => (Array.isArray(kind.enum) ? kind.enum : []))
  if (choices.length > 0) return choices[0]
  return types.includes('boolean') ? false : 1
}
