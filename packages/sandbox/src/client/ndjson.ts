/** Cuts a stream of bytes into lines, wherever its chunks are torn, and holds at most one bounded line. */
import { fail } from '../errors.ts'

export const MAX_LINE_BYTES = 4 * 1024 * 1024 // a frame carries one read of a pipe, 64 KiB as a rule

const NEWLINE = 0x0a

export type LineSplitter = {
  /**
   * The lines that end in this chunk, without their newline; their bytes are good until the next call. Throws past
   * `MAX_LINE_BYTES`.
   */
  push(chunk: Buffer): Buffer[]
  /** True when bytes of an unfinished line are held. */
  readonly hasRest: boolean
}

export function createLineSplitter(endpoint: string, maxBytes: number = MAX_LINE_BYTES): LineSplitter {
  // Of an unfinished line. Two by turns: a line that ends in a chunk is read after the chunk's own rest is held.
  let held = Buffer.alloc(0)
  let other = Buffer.alloc(0)
  let heldBytes = 0

  function hold(bytes: Buffer): void {
    check(heldBytes + bytes.length)
    if (heldBytes + bytes.length > held.length) {
      const larger = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(heldBytes + bytes.length)))
      held.copy(larger, 0, 0, heldBytes)
      held = larger
    }
    bytes.copy(held, heldBytes)
    heldBytes += bytes.length
  }

  return {
    get hasRest() {
      return heldBytes > 0
    },
    push(chunk) {
      const lines: Buffer[] = []
      let from = 0
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        const tail = chunk.subarray(from, at)
        check(heldBytes + tail.length)
        from = at + 1
        if (heldBytes === 0) {
          lines.push(tail)
          continue
        }
        hold(tail)
        lines.push(held.subarray(0, heldBytes))
        const next = other
        other = held
        held = next
        heldBytes = 0
      }
      if (from < chunk.length) hold(chunk.subarray(from))
      return lines
    },
  }

  function check(length: number): void {
    if (length > maxBytes) {
      throw fail('endpoint_wrong', { endpoint, reason: `a frame of more than ${maxBytes} bytes` })
    }
  }
}
