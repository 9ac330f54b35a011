/**
 * Moves logs to the key that writes now: a base of the same records under it, then nothing of before is left. Each step
 * is durable before the next; what a kill leaves is found again by the keys that its lines name.
 */
import { join } from 'node:path'
import type { LogView } from '../log-view.ts'
import type { Disk } from '../outside.ts'
import { encodeAgain } from '../sealing/encode-again.ts'
import type { Sealing } from '../sealing/sealing.ts'
import { BASE_END, decodeHeader, RELEASED, segmentEpochs, segmentName } from '../segment-lines.ts'
import { kidOf, type SessionLines } from '../session-lines.ts'
import { linesIn } from './readable.ts'
import type { SegmentWriter } from './segment-writer.ts'

/** Null when it could not be written; else what the next record's `prev` is. */
export async function writeRewrappedBase(
  writer: SegmentWriter,
  view: LogView,
  lines: SessionLines,
): Promise<{ prev: string } | null> {
  const encoded = encodeAgain(view.records, lines)
  const isWritten = await writer.writeLines([...encoded.map(one => one.line), Buffer.from(BASE_END)])
  if (!isWritten) return null
  writer.forgetSeals()
  // Where the last numbers are lost, the header says how it goes on, and it was written before.
  const isTailLost = view.nextSeq !== (view.records.at(-1)?.seq ?? 0) + 1
  return { prev: isTailLost ? view.prev : (encoded.at(-1)?.hash ?? view.prev) }
}

/** True when every line of every segment, and each copy of damaged bytes, is under the key that writes now. */
export async function isRewrapped(disk: Disk, folder: string, sealing: Sealing): Promise<boolean> {
  const names = (await disk.list(folder)) ?? []
  for (const epoch of segmentEpochs(names)) {
    const bytes = (await disk.read(join(folder, segmentName(epoch)))) ?? new Uint8Array(0)
    for (const line of linesIn(bytes)) {
      if (kidOf(line) !== sealing.kid && !isOfSegment(line)) return false
    }
  }
  for (const name of names.filter(isQuarantine)) {
    const bytes = (await disk.read(join(folder, name))) ?? new Uint8Array(0)
    for (const line of linesIn(bytes)) if (!isSealedWith(line, sealing)) return false
  }
  return true
}

/** Copies of damaged bytes may be of plain lines: each is sealed as it is, under the key that writes now. */
export async function sealQuarantine(disk: Disk, folder: string, sealing: Sealing): Promise<void> {
  for (const name of ((await disk.list(folder)) ?? []).filter(isQuarantine)) {
    const path = join(folder, name)
    const lines = [...linesIn((await disk.read(path)) ?? new Uint8Array(0))]
    if (lines.every(line => isSealedWith(line, sealing))) continue
    const sealed = lines.map(line => {
      if (isSealedWith(line, sealing)) return Buffer.from(line).toString('latin1')
      const text = Buffer.from(line).toString('utf8')
      return sealing.sealText(sealing.openText(text) ?? text)
    })
    await disk.replace(path, Buffer.from(sealed.map(line => `${line}\n`).join('')))
  }
}

function isSealedWith(line: Uint8Array, { kid }: Sealing): boolean {
  return Buffer.from(line).toString('latin1', 0, 12).startsWith(`l2.${kid}:`)
}

const isQuarantine = (name: string) => name.endsWith('.quarantine')

/** Header, `base_end` and `released` say nothing of what was said. */
function isOfSegment(line: Uint8Array): boolean {
  const text = line.length <= RELEASED.length ? Buffer.from(line).toString('latin1') : ''
  return text === RELEASED || text === BASE_END || decodeHeader(line) !== null
}
