/** The plain lines of a segment beside its records: header, `base_end`, `released` (design page "Sessions", Store `files`). */
import { compile, int, lit, map, obj, type Static, str } from '@earendil-works/pi-schema'
import { seal, unseal } from './record-line.ts'

export const segmentHeader = obj(
  {
    type: lit('segment'),
    epoch: int({ minimum: 1 }),
    /** Incarnation of the process that made it. */
    owner: str({ minLength: 1, maxLength: 128 }),
    /** The number of the last record before, 0 for none, and what the next one's `prev` will be. */
    last_seq: int({ minimum: 0 }),
    prev: str({ pattern: '^[0-9a-f]{32}$' }),
    /** Where each segment since the last base ends, by epoch; what is behind is no part of history. */
    sealed: map(int({ minimum: 0 })),
  },
  { open: true },
)
export type SegmentHeader = Static<typeof segmentHeader>

/** A header is read from this many bytes, so it may not be longer. */
export const MAX_HEADER_BYTES = 64 * 1024
export const RELEASED = '{"type":"released"}'
export const BASE_END = '{"type":"base_end"}'

const headerSchema = compile(segmentHeader)

export function encodeHeader(header: Omit<SegmentHeader, 'type'>): Uint8Array {
  const { epoch, owner, last_seq, prev, sealed } = header
  return seal(JSON.stringify({ type: 'segment', epoch, owner, last_seq, prev, sealed }).slice(0, -1))
}

export function decodeHeader(line: Uint8Array): SegmentHeader | null {
  const value = unseal(line)
  return headerSchema.check(value) ? value : null
}

const SEGMENT_NAME = /^(\d{6,9})\.jsonl$/

export function segmentName(epoch: number): string {
  return `${String(epoch).padStart(6, '0')}.jsonl`
}

/** Epochs of the segments among the names of a session's folder, ascending. */
export function segmentEpochs(names: readonly string[]): number[] {
  return names
    .map(name => Number(SEGMENT_NAME.exec(name)?.[1] ?? 0))
    .filter(epoch => epoch > 0)
    .sort((a, b) => a - b)
}
