/** The first and the last bytes of an answer, whatever its length: enough to say why it failed. */
const MAX_HEAD_BYTES = 16_384
const MAX_TAIL_BYTES = 16_384

export type KeptBody = {
  push(bytes: Uint8Array): void
  head(): string
  tail(): string
  /** The head takes no more. */
  isFull(): boolean
}

export function createKeptBody(): KeptBody {
  const head: Uint8Array[] = []
  let headBytes = 0
  let tail: Uint8Array[] = []
  let tailBytes = 0
  return {
    push(bytes) {
      if (headBytes < MAX_HEAD_BYTES) {
        const part = bytes.subarray(0, MAX_HEAD_BYTES - headBytes)
        head.push(part)
        headBytes += part.length
      }
      tail.push(bytes)
      tailBytes += bytes.length
      while (tail[0] !== undefined && tailBytes - tail[0].length >= MAX_TAIL_BYTES) {
        tailBytes -= tail[0].length
        tail = tail.slice(1)
      }
    },
    head: () => decode(head),
    tail: () => decode(tail).slice(-MAX_TAIL_BYTES),
    isFull: () => headBytes >= MAX_HEAD_BYTES,
  }
}

function decode(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder()
  return parts.map(part => decoder.decode(part, { stream: true })).join('')
}
