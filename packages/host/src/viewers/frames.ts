/**
 * Frames and their numbers: `seq = epoch * 2^32 + n`. Numbered frames go to every viewer and take the next number;
 * private ones go to one connection and carry the number of the last numbered frame that it was sent. Snapshot and
 * registration happen in one step of the event loop, so no frame is missed or doubled.
 */
import {
  EPOCH_STEP,
  type Frame,
  type FrameOf,
  type GAP_REASONS,
  MAX_VIEWERS,
  PAUSE_BYTES,
  RESUME_BYTES,
} from '@beige/protocol'
import { fail } from '../errors.ts'
import type { AttachAsk } from './attach-ask.ts'
import type { Attachment, Viewer } from './viewer.ts'
import { createFrameWindow, type FrameWindow } from './window.ts'

/** A frame before it has its number. */
export type Unnumbered = Frame extends infer One ? (One extends Frame ? Omit<One, 'seq'> : never) : never

export interface Frames {
  readonly seq: number
  readonly window: FrameWindow
  readonly attachments: ReadonlySet<Attachment>
  numbered(frame: Unnumbered): void
  private(viewer: Viewer, frame: Unnumbered): void
  /** `ask` null: frames from now on, e.g. for one command. Throws `too_many_viewers`. */
  attach(viewer: Viewer, ask: AttachAsk | null): Attachment
  attachmentOf(viewer: Viewer): Attachment | null
}

export type FramesParts = {
  epoch: number
  /** An id that no other viewer of the session has. */
  newViewerId(): string
  ready(attachment: Attachment): Omit<FrameOf<'ready'>, 'seq'>
  /** The whole truth at this moment. A `since` that is not on the branch counts as none. */
  catchUp(ask: AttachAsk): Omit<FrameOf<'catchup'>, 'seq'>
  /** Whether there is history or a run. */
  hasAny(): boolean
  /** The newest tree id. */
  leaf(): string | null
  /** Called before the first frame goes into the window; whoever hears it closes the window again. */
  opening(): void
  /** Called after viewers came or went. */
  changed(): void
}

type GapReason = (typeof GAP_REASONS)[number]
/** `cursor`: the last numbered frame that it was sent. `pausedAt`: the newest tree id when it was held back. */
type Attached = Attachment & { cursor: number; paused: boolean; pausedAt: string | null }

export function createFrames(parts: FramesParts): Frames {
  const attached = new Map<Viewer, Attached>()
  const window = createFrameWindow()
  let seq = parts.epoch * EPOCH_STEP

  function numbered(frame: Unnumbered): void {
    seq++
    if (!window.isOpen) parts.opening()
    window.open()
    const whole: Frame = { ...frame, seq }
    const text = JSON.stringify(whole)
    window.add(whole, Buffer.byteLength(text))
    // A viewer may leave, and come back, while it is sent something.
    for (const one of [...attached.values()]) {
      if (!one.paused && one.cursor < whole.seq && isHere(one)) deliver(one, whole, text)
    }
  }

  const isHere = (one: Attached) => attached.get(one.viewer) === one

  function deliver(one: Attached, frame: Frame, text: string): void {
    one.cursor = frame.seq
    one.viewer.send(frame, text)
    if ((one.viewer.buffered?.() ?? 0) <= PAUSE_BYTES) return
    one.paused = true
    one.pausedAt = parts.leaf()
  }

  /** What is missing, as far as its other side takes it. */
  function pump(one: Attached, reason: GapReason, since: string | null): void {
    one.paused = false
    while (one.cursor < seq && !one.paused && isHere(one)) {
      const next = window.reaches(one.cursor + 1) ? window.at(one.cursor + 1) : null
      if (next) deliver(one, next, JSON.stringify(next))
      else skipped(one, reason, { since: since ?? undefined })
    }
  }

  function skipped(one: Attached, reason: GapReason, ask: AttachAsk, from = one.cursor + 1): void {
    one.cursor = seq
    one.paused = false
    toOne(one, { type: 'gap', from, to: seq, reason, since: ask.since ?? null })
    toOne(one, parts.catchUp(ask))
  }

  function catchUp(one: Attached, ask: AttachAsk): void {
    const { after } = ask
    if (after === undefined) {
      one.cursor = seq
      one.paused = false
      const isAsked = ask.since !== undefined || ask.history !== undefined
      if (isAsked || parts.hasAny()) toOne(one, parts.catchUp(ask))
      return
    }
    const epochs = Math.floor(after / EPOCH_STEP) - Math.floor(seq / EPOCH_STEP)
    if (after > seq) skipped(one, 'ahead', ask, seq + 1)
    else if (epochs !== 0) skipped(one, 'owner', ask, after + 1)
    else if (after < seq && !window.reaches(after + 1)) skipped(one, 'window', ask, after + 1)
    else {
      one.cursor = after
      pump(one, 'slow', ask.since ?? null)
    }
  }

  function toOne(one: Attached, frame: Unnumbered): void {
    send(one.viewer, { ...frame, seq: one.cursor })
  }

  function send(viewer: Viewer, whole: Frame): void {
    viewer.send(whole, JSON.stringify(whole))
  }

  /** Where a client that asks for `after` gets just what it misses, its `ready` already counts from there. */
  function startOf(ask: AttachAsk | null): number {
    const after = ask?.after
    return after !== undefined && after < seq && window.reaches(after + 1) ? after : seq
  }

  return {
    get seq() {
      return seq
    },
    window,
    get attachments() {
      return new Set(attached.values())
    },
    numbered,
    private: (viewer, frame) => {
      const one = attached.get(viewer)
      if (one) toOne(one, frame)
      else send(viewer, { ...frame, seq })
    },
    attach: (viewer, ask) => {
      if (attached.size >= MAX_VIEWERS) throw fail('too_many_viewers', { max: MAX_VIEWERS })
      const one: Attached = {
        id: parts.newViewerId(),
        viewer,
        cursor: startOf(ask),
        paused: false,
        pausedAt: null,
        drained: () => {
          if (one.paused && (viewer.buffered?.() ?? 0) < RESUME_BYTES) pump(one, 'slow', one.pausedAt)
        },
        catchUp: again => catchUp(one, again),
        detach: () => {
          if (attached.delete(viewer)) parts.changed()
        },
      }
      attached.set(viewer, one)
      toOne(one, parts.ready(one))
      if (ask) catchUp(one, ask)
      parts.changed()
      return one
    },
    attachmentOf: viewer => attached.get(viewer) ?? null,
  }
}
