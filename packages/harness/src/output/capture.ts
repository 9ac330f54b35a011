/**
 * Keeps of a command's output what may be shown, while it comes, both streams in order of arrival. Whatever comes, it
 * holds less than two times `MAX_BYTES` (H30).
 *
 * @example
 * const capture = createCapture()
 * await exec.stream(command, chunk => capture.push(chunk.stream, chunk.bytes), signal)
 * return capture.finish().text
 */
import { Buffer } from 'node:buffer'
import { createControlFilter } from './control-filter.ts'
import { createHeadAndTail, type Shown } from './head-and-tail.ts'

const NOT_KEPT =
  'it was not kept, so if you need it run the command again with > FILE and read a part of that file'

// A state of a line that another one replaces: a progress bar makes thousands of them.
const OVERWRITTEN = /\r[^\r\n]*(?=\r[^\r\n])/g

export type OutputStream = 'stdout' | 'stderr'

export interface Capture {
  /** Bytes may be split anywhere, inside a character too: each stream has its own decoder (H29). */
  push(stream: OutputStream, bytes: Uint8Array): void
  /** All bytes that came, before anything was filtered or dropped. */
  readonly totalBytes: number
  /** The newest `maxBytes` of what is kept so far. */
  newest(maxBytes: number): string
  /** What may be shown, without the last newline. Nothing can be pushed afterwards. */
  finish(): Shown
}

export function createCapture(): Capture {
  const streams = { stdout: createTextStream(), stderr: createTextStream() }
  const kept = createHeadAndTail()
  let totalBytes = 0
  let rewind = false // a carriage return came: what follows takes the place of its line

  const append = (text: string) => {
    if (text === '') return
    for (const piece of text.includes('\r') ? lineStates(text) : [text]) {
      if (piece === '\r') rewind = true
      else if (piece !== '') {
        if (rewind && !piece.startsWith('\n')) kept.dropLine()
        rewind = false
        kept.append(Buffer.from(piece))
      }
    }
  }

  return {
    push(stream, bytes) {
      totalBytes += bytes.length
      append(streams[stream].push(bytes))
    },
    get totalBytes() {
      return totalBytes
    },
    newest: maxBytes => kept.newest(maxBytes),
    finish() {
      append(streams.stdout.end())
      append(streams.stderr.end())
      return kept.shown(NOT_KEPT)
    },
  }
}

/** Carriage returns stand alone. Each pass is linear, also on nothing but carriage returns. */
function lineStates(text: string): string[] {
  const single = text.replace(/\r+/g, '\r').replaceAll('\r\n', '\n')
  return single.replace(OVERWRITTEN, '').split(/(\r)/)
}

function createTextStream() {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const filter = createControlFilter()
  return {
    push: (bytes: Uint8Array) => filter.push(decoder.decode(bytes, { stream: true })),
    end: () => filter.push(decoder.decode()),
  }
}
