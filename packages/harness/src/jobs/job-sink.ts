/** Where a job's output is read into: bounded, with what was reported set apart from what is new. */
import type { ExecChunk, JobOffsets } from '@beige/sandbox'
import { type Capture, createCapture, sizeText, spillAdvice } from '../output/index.ts'

const TAIL_BYTES = 4096 // kept of what was reported, for a notice
const PROGRESS_BYTES = 8192

export interface JobSink {
  take(chunk: ExecChunk): void
  /** Bytes of each stream that were taken, or dropped by the endpoint. */
  readonly offsets: JobOffsets
  /** `clock.monotonic()` when something came last. */
  readonly lastAt: number
  readonly totalBytes: number
  /** What came since the last report, bounded; from now on it counts as told. */
  report(): { text: string; missingBytes: number }
  /** The newest output, reported or not. */
  tail(): string
  /** Nobody watches any more. */
  quiet(): void
}

/** `callId`: of the command, by which all of its output is found again. */
export function createJobSink(
  callId: string,
  monotonic: () => number,
  progress: (snapshot: () => string, bytes: number) => void,
): JobSink {
  const offsets: JobOffsets = { stdout: 0, stderr: 0 }
  let capture: Capture = createCapture()
  let reportedTail = ''
  let lastAt = monotonic()
  let watched = true
  const total = () => offsets.stdout + offsets.stderr

  return {
    take({ stream, offset, bytes }) {
      lastAt = monotonic()
      const dropped = offset - offsets[stream]
      if (dropped > 0) {
        const text = `\n[… ${sizeText(dropped)} of ${stream} came faster than they could be kept …]\n`
        capture.push(stream, Buffer.from(text))
      }
      offsets[stream] = offset + bytes.length
      capture.push(stream, bytes)
      if (watched) progress(() => capture.newest(PROGRESS_BYTES), total())
    },
    get offsets() {
      return { ...offsets }
    },
    get lastAt() {
      return lastAt
    },
    get totalBytes() {
      return total()
    },
    report() {
      reportedTail = tail()
      const { text, missingBytes } = capture.finish(spillAdvice(callId))
      capture = createCapture()
      return { text, missingBytes }
    },
    tail,
    quiet: () => {
      watched = false
    },
  }

  function tail(): string {
    const newest = capture.newest(TAIL_BYTES)
    const whole = reportedTail !== '' && newest !== '' ? `${reportedTail}\n${newest}` : reportedTail + newest
    return whole.slice(-TAIL_BYTES).trimEnd()
  }
}
