/**
 * Frames and their numbers: `seq = epoch * 2^32 + n`. Numbered frames go to every viewer and take the next number;
 * private ones go to one connection and carry the number of the last numbered frame.
 */
import type { Frame } from '@beige/protocol'

const EPOCH_STEP = 2 ** 32

/** A frame before it has its number. */
export type Unnumbered = Frame extends infer One ? (One extends Frame ? Omit<One, 'seq'> : never) : never

/** One connection's view of a session. `send` must not throw and must not block. */
export interface Viewer {
  /** Who this is, from our side of the connection: `local`, a token's name, a channel. */
  readonly origin: { kind: string; name?: string }
  send(frame: Frame): void
}

export interface Frames {
  readonly seq: number
  numbered(frame: Unnumbered): void
  private(viewer: Viewer, frame: Unnumbered): void
  attach(viewer: Viewer): () => void
  readonly viewers: number
}

export function createFrames(epoch: number): Frames {
  const viewers = new Set<Viewer>()
  let seq = epoch * EPOCH_STEP
  return {
    get seq() {
      return seq
    },
    get viewers() {
      return viewers.size
    },
    numbered: frame => {
      seq++
      for (const viewer of viewers) viewer.send(stamped(frame, seq))
    },
    private: (viewer, frame) => viewer.send(stamped(frame, seq)),
    attach: viewer => {
      viewers.add(viewer)
      return () => viewers.delete(viewer)
    },
  }
}

function stamped(frame: Unnumbered, seq: number): Frame {
  return { ...frame, seq }
}
