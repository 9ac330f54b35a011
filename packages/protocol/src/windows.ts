/**
 * Flow control of byte streams that share a pipe: a sender may have only so many bytes on the way, a receiver allows
 * more when its consumer has taken them. So a slow reader slows the writer, and memory stays at one window. Pure.
 */
import { type ErrorTable, failer } from './errors.ts'
import { MAX_FRAME_PAYLOAD_BYTES } from './frames.ts'

export const windowErrors = {
  window_exceeded: {
    says: 'the other side sent {bytes} bytes beyond its window',
    retryable: false,
    advice: 'It does not keep to the protocol; the connection is closed',
  },
  stream_closed: {
    says: 'the stream was closed: {reason}',
    retryable: false,
    advice: 'Start the call again if its effect is still wanted',
  },
} as const satisfies ErrorTable
const fail = failer(windowErrors)

export interface SendWindow {
  /**
   * Hands `bytes` to `emit` in pieces that fit a frame, as the window allows; calls keep their order. Rejects with
   * `stream_closed` when the window is closed before all is sent.
   */
  send(bytes: Uint8Array, emit: (piece: Uint8Array) => void | Promise<void>): Promise<void>
  /** The receiver allows this many more bytes. */
  allow(bytes: number): void
  close(reason: string): void
}

export function createSendWindow(firstBytes: number): SendWindow {
  let allowed = firstBytes
  let closed: string | null = null
  let wake: (() => void) | null = null
  let tail: Promise<void> = Promise.resolve()

  const sendNow = async (bytes: Uint8Array, emit: (piece: Uint8Array) => void | Promise<void>) => {
    let at = 0
    while (at < bytes.length) {
      while (allowed <= 0 && closed === null) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
      if (closed !== null) throw fail('stream_closed', { reason: closed })
      const piece = bytes.subarray(at, at + Math.min(allowed, MAX_FRAME_PAYLOAD_BYTES))
      allowed -= piece.length
      at += piece.length
      await emit(piece)
    }
  }
  const rouse = () => {
    const waiting = wake
    wake = null
    waiting?.()
  }

  return {
    send(bytes, emit) {
      const mine = tail.then(() => sendNow(bytes, emit))
      tail = mine.catch(() => undefined) // its caller hears of it; the next one finds the window closed itself
      return mine
    },
    allow(bytes) {
      allowed = Math.min(allowed + bytes, Number.MAX_SAFE_INTEGER)
      rouse()
    },
    close(reason) {
      closed ??= reason
      rouse()
    },
  }
}

export interface ReceiveQueue<Item> extends AsyncIterable<Item> {
  /** Throws `window_exceeded` where the sender did not wait for its window. */
  push(item: Item): void
  end(): void
  /** What is held is dropped and the consumer's next read rejects with `stream_closed`. */
  close(reason: string): void
  readonly heldBytes: number
}

/**
 * `allow` is told how many more bytes the sender may send, in steps of about half a window. One consumer. `bytesOf` is for
 * items that are more than bytes, such as a piece of one of two streams.
 */
export function createReceiveQueue(
  firstBytes: number,
  allow: (bytes: number) => void,
): ReceiveQueue<Uint8Array>
export function createReceiveQueue<Item>(
  firstBytes: number,
  allow: (bytes: number) => void,
  bytesOf: (item: Item) => number,
): ReceiveQueue<Item>
export function createReceiveQueue<Item>(
  firstBytes: number,
  allow: (bytes: number) => void,
  bytesOf: (item: Item) => number = lengthOf,
): ReceiveQueue<Item> {
  let held: Item[] = []
  let heldBytes = 0
  let budget = firstBytes
  let taken = 0
  let state: { kind: 'open' } | { kind: 'ended' } | { kind: 'closed'; reason: string } = { kind: 'open' }
  let wake: (() => void) | null = null

  const rouse = () => {
    const waiting = wake
    wake = null
    waiting?.()
  }
  const next = async (): Promise<IteratorResult<Item>> => {
    for (;;) {
      const item = held.shift()
      if (item !== undefined) {
        heldBytes -= bytesOf(item)
        taken += bytesOf(item)
        if (taken >= firstBytes / 2) {
          budget += taken
          allow(taken)
          taken = 0
        }
        return { done: false, value: item }
      }
      if (state.kind === 'closed') throw fail('stream_closed', { reason: state.reason })
      if (state.kind === 'ended') return { done: true, value: undefined }
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }

  return {
    push(item) {
      const bytes = bytesOf(item)
      if (state.kind !== 'open' || bytes === 0) return
      if (bytes > budget) throw fail('window_exceeded', { bytes: bytes - budget })
      budget -= bytes
      held.push(item)
      heldBytes += bytes
      rouse()
    },
    end() {
      if (state.kind === 'open') state = { kind: 'ended' }
      rouse()
    },
    close(reason) {
      if (state.kind === 'ended' && held.length === 0) return
      state = { kind: 'closed', reason }
      held = []
      heldBytes = 0
      rouse()
    },
    get heldBytes() {
      return heldBytes
    },
    [Symbol.asyncIterator]: () => ({ next, return: async () => ({ done: true, value: undefined }) }),
  }
}

function lengthOf(item: unknown): number {
  return item instanceof Uint8Array ? item.length : 0
}
