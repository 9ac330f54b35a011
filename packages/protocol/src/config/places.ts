/** Finds the schema of a place in a document, for what a validator does not tell: expected type, known keys. Pure. */

export type Place = readonly (string | number)[]

/** The schemas that may describe the value at `place`, the branches of unions one by one. */
export function schemasAt(schema: unknown, place: Place): readonly Record<string, unknown>[] {
  let current = branches(schema)
  for (const step of place) {
    current = current.flatMap(one => {
      if (typeof step === 'number') return isRecord(one.items) ? branches(one.items) : []
      const known = isRecord(one.properties) ? one.properties[step] : undefined
      if (known !== undefined) return branches(known)
      return isRecord(one.additionalProperties) ? branches(one.additionalProperties) : []
    })
  }
  return current
}

/** Keys that an object at `place` may have. */
export function keysAt(schema: unknown, place: Place): readonly string[] {
  return schemasAt(schema, place).flatMap(one =>
    isRecord(one.properties) ? Object.keys(one.properties) : [],
  )
}

/** Every place of the schema where `key` is a known name, with `*` for names of the user. */
export function placesOfKey(schema: unknown, key: string): readonly string[] {
  const found: string[] = []
  const walk = (node: unknown, path: readonly string[]) => {
    for (const one of branches(node)) {
      for (const [name, child] of Object.entries(isRecord(one.properties) ? one.properties : {})) {
        if (name === key) found.push([...path, name].join('.'))
        walk(child, [...path, name])
      }
      if (isRecord(one.additionalProperties)) walk(one.additionalProperties, [...path, '*'])
      if (isRecord(one.items)) walk(one.items, path)
    }
  }
  walk(schema, [])
  return found
}

function branches(schema: unknown): Record<string, unknown>[] {
  if (!isRecord(schema)) return []
  return Array.isArray(schema.anyOf) ? schema.anyOf.flatMap(branches) : [schema]
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
