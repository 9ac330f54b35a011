/**
 * Binary frames for pipes that carry several calls at once: `u32 length` (big-endian, of what follows), `u8 type`,
 * `u32 request id`, payload. The tool socket's v2 and the pipe to a plugin's process both speak them. Pure.
 */
import { type ErrorTable, failer } from './errors.ts'

export const FRAME_HEAD_BYTES = 9 // length, type, id
/** Of what follows the length: type, id and payload. A `request` may be longer, see the decoder's `maxBytesOf`. */
export const MAX_FRAME_BYTES = 65_536
export const MAX_FRAME_PAYLOAD_BYTES = MAX_FRAME_BYTES - 5

export const frameErrors = {
  frame_too_short: {
    says: 'a frame of {length} bytes has no room for its head',
    retryable: false,
    advice: 'The other side does not speak this protocol',
  },
  frame_too_long: {
    says: 'a frame of type {type} has {length} bytes, {maxBytes} are allowed',
    retryable: false,
    advice: 'Split the payload over several frames',
  },
} as const satisfies ErrorTable
const fail = failer(frameErrors)

export type BinaryFrame = { type: number; id: number; payload: Uint8Array }

export function encodeFrame(type: number, id: number, payload: Uint8Array = EMPTY): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEAD_BYTES + payload.length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, payload.length + 5)
  view.setUint8(4, type)
  view.setUint32(5, id)
  bytes.set(payload, FRAME_HEAD_BYTES)
  return bytes
}

/**
 * Takes bytes as they arrive, torn anywhere, and hands out whole frames. A length that is not allowed is refused before
 * anything of that size is held; after a throw the decoder is of no more use.
 *
 * @example
 * const decoder = createFrameDecoder(type => (type === 0x10 ? 1_048_576 : MAX_FRAME_BYTES))
 * socket.on('data', chunk => { for (const frame of decoder.push(chunk)) handle(frame) })
 */
export function createFrameDecoder(maxBytesOf: (type: number) => number = () => MAX_FRAME_BYTES): {
  push(chunk: Uint8Array): BinaryFrame[]
  /** Bytes of a frame that has not ended yet. */
  readonly pendingBytes: number
} {
  let held: Uint8Array[] = []
  let heldBytes = 0

  const take = (count: number): Uint8Array => {
    const out = new Uint8Array(count)
    let filled = 0
    while (filled < count) {
      const first = held[0]
      if (!first) break
      const part = first.subarray(0, count - filled)
      out.set(part, filled)
      filled += part.length
      if (part.length === first.length) held.shift()
      else held[0] = first.subarray(part.length)
    }
    heldBytes -= filled
    return out
  }

  let head: { length: number; type: number } | null = null
  return {
    push(chunk) {
      if (chunk.length > 0) {
        held.push(chunk)
        heldBytes += chunk.length
      }
      const frames: BinaryFrame[] = []
      for (;;) {
        if (head === null) {
          if (heldBytes < 5) break
          const view = viewOf(take(5))
          head = { length: view.getUint32(0), type: view.getUint8(4) }
          if (head.length < 5) throw fail('frame_too_short', { length: head.length })
          const maxBytes = maxBytesOf(head.type)
          if (head.length > maxBytes) throw fail('frame_too_long', { ...head, maxBytes })
        }
        const { length, type } = head
        if (heldBytes < length - 1) break
        const rest = take(length - 1)
        frames.push({ type, id: viewOf(rest).getUint32(0), payload: rest.subarray(4) })
        head = null
        held = heldBytes === 0 ? [] : held
      }
      return frames
    },
    get pendingBytes() {
      return heldBytes
    },
  }
}

export function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}

/** The JSON value of a payload, or undefined where it is not UTF-8 or not JSON. */
export function decodeJson(payload: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    return value
  } catch {
    return undefined
  }
}

export function encodeU32(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  viewOf(bytes).setUint32(0, value)
  return bytes
}

/** Undefined where the payload is no `u32`. */
export function decodeU32(payload: Uint8Array): number | undefined {
  return payload.length === 4 ? viewOf(payload).getUint32(0) : undefined
}

const EMPTY = new Uint8Array(0)
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
