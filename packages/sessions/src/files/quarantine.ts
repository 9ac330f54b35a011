/** Copies of bytes that could not be read, beside the segment they stay in: `<segment>.quarantine`, a JSON line each. */
import { join } from 'node:path'
import type { RecordBody } from '@beige/protocol'
import { damageHash, type FoundDamage } from '../chain.ts'
import type { Disk } from '../outside.ts'

const MAX_CHUNK_BYTES = 1024 * 1024 // of one line, so that a quarantine can be read line by line

/** Durable when it resolves. Copying what is there already changes nothing. */
export async function quarantine(disk: Disk, folder: string, damages: readonly FoundDamage[]): Promise<void> {
  for (const segment of new Set(damages.map(damage => damage.segment))) {
    const path = join(folder, `${segment}.quarantine`)
    const kept = Buffer.from((await disk.read(path)) ?? new Uint8Array(0)).toString('utf8')
    const lines = damages
      .filter(damage => damage.segment === segment && damage.bytes.length > 0)
      .flatMap(linesOf)
      .filter(line => !kept.includes(line))
    if (lines.length > 0) await disk.replace(path, Buffer.from(kept + lines.join('')))
  }
}

export function damageRecords(damages: readonly FoundDamage[]): RecordBody[] {
  return damages.map(damage => ({
    type: 'damage',
    segment: damage.segment,
    offset: damage.offset,
    length: damage.length,
    hash: damageHash(damage.bytes),
    reason: damage.reason,
    ...(damage.seqs.length > 0 ? { seqs: [...damage.seqs] } : {}),
  }))
}

function linesOf(damage: FoundDamage): string[] {
  const lines: string[] = []
  for (let at = 0; at < damage.bytes.length; at += MAX_CHUNK_BYTES) {
    const chunk = Buffer.from(damage.bytes.subarray(at, at + MAX_CHUNK_BYTES))
    const entry = { offset: damage.offset + at, length: chunk.length, reason: damage.reason }
    lines.push(`${JSON.stringify({ ...entry, bytes: chunk.toString('base64') })}\n`)
  }
  return lines
}
