/** Reads the frames of a streamed answer one by one, and nothing ahead of its caller but what a socket holds. */
import type { IncomingMessage } from 'node:http'
import { type ExecFrame, execFrame, messageOf } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import { expect } from './check.ts'

const MAX_LINE_BYTES = 64 * 1024 * 1024
const isFrame = compile(execFrame).check

export type Output = 'stdout' | 'stderr'
export type OutputFrame = { type: Output; offset: number; bytes: Buffer }

export interface FrameReader {
  /** The next frame; null at the end of the answer. */
  next(): Promise<ExecFrame | null>
  /** The next one that is of this type; fails at the end. */
  nextOf<T extends ExecFrame['type']>(type: T): Promise<Extract<ExecFrame, { type: T }>>
  rest(): Promise<ExecFrame[]>
  close(): void
}

export function frameReader(message: IncomingMessage): FrameReader {
  const frames = framesOf(message)
  const next = async () => {
    const { value, done } = await frames.next()
    return done ? null : value
  }
  return {
    next,
    async nextOf<T extends ExecFrame['type']>(type: T) {
      for (let frame = await next(); frame !== null; frame = await next()) {
        if (isOf(frame, type)) return frame
        expect(frame.type !== 'error', `an error frame came: ${JSON.stringify(frame)}`)
      }
      throw fail('check_failed', { reason: `the stream ended without a frame "${type}"` })
    },
    async rest() {
      const all: ExecFrame[] = []
      for (let frame = await next(); frame !== null; frame = await next()) all.push(frame)
      return all
    },
    close: () => message.destroy(),
  }
}

/** The frames that carry output. */
export function outputOf(frames: readonly ExecFrame[]): OutputFrame[] {
  return frames.flatMap(frame =>
    frame.type === 'stdout' || frame.type === 'stderr'
      ? [{ type: frame.type, offset: frame.offset, bytes: Buffer.from(frame.data, 'base64') }]
      : [],
  )
}

export function bytesOf(frames: readonly ExecFrame[], type: Output): Buffer {
  return Buffer.concat(outputOf(frames).flatMap(frame => (frame.type === type ? [frame.bytes] : [])))
}

function isOf<T extends ExecFrame['type']>(
  frame: ExecFrame,
  type: T,
): frame is Extract<ExecFrame, { type: T }> {
  return frame.type === type
}

async function* framesOf(message: IncomingMessage): AsyncGenerator<ExecFrame> {
  let parts: Buffer[] = []
  let held = 0
  try {
    for await (const chunk of message.iterator({ destroyOnReturn: false })) {
      let bytes: Buffer = chunk
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10)) {
        yield parse(Buffer.concat([...parts, bytes.subarray(0, end)]))
        parts = []
        held = 0
        bytes = bytes.subarray(end + 1)
      }
      parts.push(bytes)
      held += bytes.length
      expect(held <= MAX_LINE_BYTES, `a frame of more than ${MAX_LINE_BYTES} bytes`)
    }
  } catch (error) {
    throw fail('check_failed', { reason: `the stream broke: ${messageOf(error)}` }, error)
  }
  expect(held === 0, 'the stream ends inside of a line')
}

function parse(line: Buffer): ExecFrame {
  let frame: unknown
  try {
    frame = JSON.parse(line.toString())
  } catch {
    frame = null
  }
  expect(isFrame(frame), `not a frame: ${line.subarray(0, 200).toString()}`)
  return frame
}
