/** The newest numbered frames, kept while something happens and a while after; an idle session keeps none. */
import { type Frame, WINDOW_BYTES, WINDOW_FRAMES } from '@beige/protocol'

const COMPACT_AT = 1024 // freed places at the front before the array is moved

export interface FrameWindow {
  /** Whether frames are kept now. */
  readonly isOpen: boolean
  open(): void
  /** Drops all and keeps nothing from now on. */
  close(): void
  add(frame: Frame, bytes: number): void
  /** The frame with this number; null where it is not kept. */
  at(seq: number): Frame | null
  /** Whether all frames from this number to the newest are kept. */
  reaches(seq: number): boolean
}

export function createFrameWindow(limits = { frames: WINDOW_FRAMES, bytes: WINDOW_BYTES }): FrameWindow {
  let kept: { frame: Frame; bytes: number }[] = []
  let start = 0
  let bytes = 0
  let isOpen = false

  const first = () => kept[start]?.frame.seq
  return {
    get isOpen() {
      return isOpen
    },
    open: () => {
      isOpen = true
    },
    close: () => {
      isOpen = false
      kept = []
      start = 0
      bytes = 0
    },
    add: (frame, size) => {
      if (!isOpen) return
      kept.push({ frame, bytes: size })
      bytes += size
      while (kept.length - start > limits.frames || (bytes > limits.bytes && kept.length - start > 1)) {
        bytes -= kept[start]?.bytes ?? 0
        start++
      }
      if (start < COMPACT_AT) return
      kept = kept.slice(start)
      start = 0
    },
    at: seq => kept[start + seq - (first() ?? 0)]?.frame ?? null,
    reaches: seq => {
      const from = first()
      return from !== undefined && seq >= from
    },
  }
}
