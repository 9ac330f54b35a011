/** Bytes for people who write tools: collecting a whole stdin with a bound. */
import { fail } from './errors.ts'

/** Reads a stream to its end; rejects with `too_large` beyond `maxBytes`, holding no more than that. */
export async function readAll(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let total = 0
  for await (const part of stream) {
    total += part.length
    if (total > maxBytes) throw fail('too_large', { maxBytes })
    parts.push(part)
  }
  const all = new Uint8Array(total)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
