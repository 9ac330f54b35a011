/** Cuts a stream of bytes into lines, wherever its chunks are torn, and holds at most one bounded line. */
import { fail } from '../errors.ts'

export const MAX_LINE_BYTES = 4 * 1024 * 1024 // a frame carries one read of a pipe, 64 KiB as a rule

const NEWLINE = 0x0a

export type LineSplitter = {
  /** The lines that end in this chunk, without their newline. Throws past `MAX_LINE_BYTES`. */
  push(chunk: Buffer): Buffer[]
  /** True when bytes of an unfinished line are held. */
  readonly hasRest: boolean
}

export function createLineSplitter(endpoint: string, maxBytes: number = MAX_LINE_BYTES): LineSplitter {
  let held: Buffer[] = []
  let heldBytes = 0

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
        lines.push(heldBytes === 0 ? tail : Buffer.concat([...held, tail]))
        held = []
        heldBytes = 0
        from = at + 1
      }
      if (from < chunk.length) {
        check(heldBytes + chunk.length - from)
        held.push(chunk.subarray(from))
        heldBytes += chunk.length - from
      }
      return lines
    },
  }

  function check(length: number): void {
    if (length > maxBytes) {
      throw fail('endpoint_wrong', { endpoint, reason: `a frame of more than ${maxBytes} bytes` })
    }
  }
}
