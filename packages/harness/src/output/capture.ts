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

const SCRATCH_BYTES = 48 * 1024

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
  /**
   * What may be shown, without the last newline. Nothing can be pushed afterwards. `advice` says in the marker of what is
   * missing where that is; absent: nowhere.
   */
  finish(advice?: string): Shown
}

export function createCapture(): Capture {
  const streams = { stdout: createTextStream(), stderr: createTextStream() }
  const kept = createHeadAndTail()
  const scratch = Buffer.allocUnsafe(SCRATCH_BYTES)
  let totalBytes = 0
  let rewind = false // a carriage return came: what follows takes the place of its line

  const append = (text: string) => {
    if (text === '') return
    for (const piece of text.includes('\r') ? lineStates(text) : [text]) {
      if (piece === '\r') rewind = true
      else if (piece !== '') {
        if (rewind && !piece.startsWith('\n')) kept.dropLine()
        rewind = false
        append8(piece)
      }
    }
  }

  // Through one buffer: a new one for each piece would be freed long after it is of no use.
  const append8 = (piece: string) => {
    for (let from = 0; from < piece.length; ) {
      const rest = piece.slice(from, from + SCRATCH_BYTES / 3)
      const cut =
        isHighSurrogate(rest.charCodeAt(rest.length - 1)) && rest.length > 1 ? rest.slice(0, -1) : rest
      kept.append(scratch.subarray(0, scratch.write(cut)))
      from += cut.length
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
    finish(advice = NOT_KEPT) {
      append(streams.stdout.end())
      append(streams.stderr.end())
      return kept.shown(advice)
    },
  }
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code < 0xdc00

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
