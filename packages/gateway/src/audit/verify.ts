/**
 * Walks the chain of all audit files and stops at the first edit, gap, reorder, cut or fork. Streams: memory is one
 * line, a gigabyte takes seconds.
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isNotFound } from '../home/json-file.ts'
import { type ChainHead, decodeHead, FIRST_PREV, hashOfLine, headOfLine, MAX_LINE_BYTES } from './line.ts'

const READ_BYTES = 1_048_576

export type Verdict =
  | { ok: true; files: number; lines: number; head: ChainHead; tornBytes: number }
  | { ok: false; file: string; offset: number; reason: string }

/** Files of the chain in their order; `audit.jsonl` is the newest. */
export function auditFiles(current: string): string[] {
  const folder = dirname(current)
  const rotated = readdirSync(folder)
    .filter(name => /^audit-\d{12}\.jsonl$/.test(name))
    .sort()
    .map(name => join(folder, name))
  return statSync(current, { throwIfNoEntry: false }) ? [...rotated, current] : rotated
}

export function headPath(current: string): string {
  return join(dirname(current), 'audit.head')
}

/** A tail that a crash tore off is no break of the chain: it was never acknowledged. Its bytes are counted. */
export function verifyAudit(current: string, anchor?: ChainHead): Verdict {
  const files = auditFiles(current)
  const wanted = readHead(headPath(current))
  const place = { file: current, offset: 0 }
  if (wanted === 'damaged') return { ok: false, ...place, reason: 'audit.head is damaged' }
  if (wanted === null && files.length > 0)
    return { ok: false, ...place, reason: 'audit.head is missing, so a cut could not be seen' }

  let head: ChainHead = { seq: 0, hash: FIRST_PREV }
  let headSeen = wanted === null || wanted.seq === 0
  let anchorSeen = anchor === undefined
  let tornBytes = 0
  for (const [index, file] of files.entries()) {
    const isLast = index === files.length - 1
    const first = head.seq + 1
    const named = /audit-(\d{12})\.jsonl$/.exec(file)
    if (named && Number(named[1]) !== first)
      return { ok: false, file, offset: 0, reason: `begins with line ${Number(named[1])}, ${first} was next` }
    let problem: Verdict | null = null
    const torn = eachLine(file, (line, offset) => {
      const parsed = line.length > MAX_LINE_BYTES ? null : headOfLine(line)
      const stop = (reason: string): false => {
        problem = { ok: false, file, offset, reason }
        return false
      }
      if (parsed === null) return stop('is no audit line')
      if (parsed.seq !== head.seq + 1) return stop(`line ${parsed.seq} where ${head.seq + 1} was next`)
      if (parsed.prev !== head.hash)
        return stop(`line ${head.seq} is not the one that line ${parsed.seq} was written after`)
      head = { seq: parsed.seq, hash: hashOfLine(line) }
      for (const known of [wanted, anchor]) {
        if (known?.seq !== head.seq) continue
        if (known.hash !== head.hash)
          return stop(
            `line ${head.seq} is not the one that ${known === anchor ? 'was anchored' : 'audit.head names'}`,
          )
        if (known === wanted) headSeen = true
        if (known === anchor) anchorSeen = true
      }
      return true
    })
    if (problem) return problem
    if (torn > 0 && !isLast)
      return { ok: false, file, offset: statSync(file).size - torn, reason: 'ends in half a line' }
    tornBytes = torn
  }
  const lastFile = files.at(-1) ?? current
  const end = { file: lastFile, offset: statSync(lastFile, { throwIfNoEntry: false })?.size ?? 0 }
  if (!headSeen && wanted)
    return { ok: false, ...end, reason: `cut: ends with line ${head.seq}, ${wanted.seq} was written` }
  if (!anchorSeen) return { ok: false, ...end, reason: `line ${anchor?.seq} that was anchored is not there` }
  return { ok: true, files: files.length, lines: head.seq, head, tornBytes }
}

export function readHead(path: string): ChainHead | 'damaged' | null {
  try {
    return decodeHead(readFileSync(path, 'utf8')) ?? 'damaged'
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

/** Calls `take` with each whole line until it says false; answers how many bytes follow the last newline. */
function eachLine(file: string, take: (line: Uint8Array, offset: number) => boolean): number {
  const descriptor = openSync(file, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    let rest: Buffer = Buffer.alloc(0)
    let offset = 0
    for (;;) {
      const count = readSync(descriptor, buffer, 0, READ_BYTES, null)
      if (count === 0) return rest.length
      const bytes =
        rest.length === 0 ? buffer.subarray(0, count) : Buffer.concat([rest, buffer.subarray(0, count)])
      let start = 0
      for (;;) {
        const end = bytes.indexOf(10, start)
        if (end < 0) break
        if (!take(bytes.subarray(start, end), offset + start)) return 0
        start = end + 1
      }
      // A line without an end must not grow without a bound.
      if (bytes.length - start > MAX_LINE_BYTES) {
        take(bytes.subarray(start), offset + start)
        return 0
      }
      rest = Buffer.from(bytes.subarray(start))
      offset += start
    }
  } finally {
    closeSync(descriptor)
  }
}

export function verdictText(verdict: Verdict): string {
  if (!verdict.ok) return `${basename(verdict.file)} at byte ${verdict.offset}: ${verdict.reason}`
  const torn = verdict.tornBytes === 0 ? '' : `, ${verdict.tornBytes} bytes of a line that a crash cut off`
  return `chain ok: ${verdict.lines} lines in ${verdict.files} file${verdict.files === 1 ? '' : 's'}, head ${verdict.head.seq}:${verdict.head.hash}${torn}`
}
