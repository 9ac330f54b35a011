/** A file of one JSON object, as it is read and changed; the real one is `private-json-file.ts`. */
import { isObject, parse } from '../json.ts'

export type JsonEntries = Readonly<Record<string, unknown>>

export interface JsonFile {
  path: string
  /** Null when there is none. Throws for a damaged one. */
  read(): Promise<JsonEntries | null>
  /**
   * Read, then what `change` makes of it, while nobody else changes it. Null leaves the file as it is. Answers what is in
   * it now.
   */
  change(
    change: (entries: JsonEntries) => Promise<JsonEntries | null>,
    signal?: AbortSignal,
  ): Promise<JsonEntries>
}

/** What is damaged is never taken for empty, and never overwritten (H05, H08). */
export function entriesOf(text: string, bad: (what: string) => Error): JsonEntries {
  const data = parse(text)
  if (isObject(data)) return data
  throw bad(text.trim() === '' ? 'it is empty' : 'it is no JSON object')
}
