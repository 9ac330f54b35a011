/** Reads fields out of JSON that nobody has checked yet. */
export type JsonRecord = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
export function records(value: unknown): readonly JsonRecord[] {
  return list(value).filter(isRecord)
}
export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The path of the first string with a lone surrogate: no vendor takes one, though JSON can carry it. */
export function loneSurrogateAt(value: unknown, path = ''): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : path
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const found = loneSurrogateAt(item, `${path}.${i}`)
      if (found !== null) return found
    }
    return null
  }
  if (!isRecord(value)) return null
  for (const [key, item] of Object.entries(value)) {
    const found = loneSurrogateAt(item, `${path}.${key}`)
    if (found !== null) return found
  }
  return null
}
