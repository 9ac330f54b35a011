/**
 * Puts the segments of a session together to one history: which of their bytes count, which records they hold, what is
 * damaged (design page "Sessions", Opening any log and Store `files`). Pure; reads bytes, decides nothing about owners.
 */
import type { SessionId, SessionRecord } from '@beige/protocol'
import { type Chain, createChain, type FoundDamage } from './chain.ts'
import { RELEASED, type SegmentHeader, segmentName } from './segment-lines.ts'
import { type ParsedSegment, type Piece, parseSegment } from './segment-parse.ts'
import { checkReadable, plainLines, type ReadLine, type SessionLines } from './session-lines.ts'

export type SegmentBytes = { epoch: number; bytes: Uint8Array }

/** `end` is its seal; `bytes` are empty where nothing of it is history. */
export type Part = { epoch: number; end: number; bytes: Uint8Array }

export type LogView = {
  records: readonly SessionRecord[]
  /** What the next record carries. */
  nextSeq: number
  prev: string
  /** Not yet told by a `damage` record. */
  untold: readonly FoundDamage[]
  /** Still there, or still missing, and told. */
  told: readonly FoundDamage[]
  /** The parts of segments that make up the history, oldest first. */
  parts: readonly Part[]
  /** Segments from before a whole base, still there. */
  obsolete: readonly number[]
  /** True when there is anything beside headers: somebody once made this session. */
  isMade: boolean
}

/** `tail`: an opener seals it away and so must tell it; for a reader it is a record in the making. */
export type ViewOptions = { tail: 'damage' | 'ignore'; id?: SessionId; lines?: SessionLines }

/** Throws `no_key`, `wrong_seal` and `not_sealed`: what is whole and can not be read is no damage. */
export function viewLog(segments: readonly SegmentBytes[], options: ViewOptions): LogView {
  const { lines = plainLines } = options
  const newest = newestHeaded(segments, lines)
  const chain = createChain()
  const history = newest
    ? followParts(chain, newest, segments, options)
    : { parts: [], isMade: false, isBaseBegun: false }
  if (options.tail === 'damage')
    tellTails(chain, history.isBaseBegun ? null : newest, newest?.epoch ?? 0, segments)
  const first = history.parts[0]?.epoch ?? 0
  return {
    ...chain.end(),
    parts: history.parts,
    obsolete: segments.map(one => one.epoch).filter(epoch => epoch < first),
    isMade: history.isMade,
  }
}

type Parts = { parts: Part[]; isMade: boolean; isBaseBegun: boolean }

function followParts(
  chain: Chain,
  newest: ParsedSegment,
  segments: readonly SegmentBytes[],
  { id, lines = plainLines }: ViewOptions,
): Parts {
  const found: ReadLine[] = []
  const files = new Map(segments.map(one => [one.epoch, one.bytes]))
  const ends = endsBefore(newest, segments, lines)
  const isOlderMissing = [...ends].some(([epoch, end]) => end > 0 && !files.has(epoch))
  const all = [...ends, [newest.epoch, newest.wholeEnd] as const]
  const result: Parts = { parts: [], isMade: false, isBaseBegun: false }
  for (const [index, [epoch, end]] of all.entries()) {
    const segment =
      epoch === newest.epoch ? newest : parseSegment(epoch, files.get(epoch) ?? NO_BYTES, end, lines)
    for (const piece of segment.pieces) found.push(...readingOf(piece))
    // Seals begin with the last base: what is first among them and has copied lines was whole once.
    const base = baseOf(segment, segment === newest ? isOlderMissing : index === 0)
    if (base === 'whole') {
      result.parts = []
      chain.restart()
    }
    const isBegun = base === 'partial' // its lines are all in the segments before, and nothing of its own was acknowledged
    result.isBaseBegun = isBegun
    if (end > 0) result.parts.push({ epoch, end, bytes: isBegun ? NO_BYTES : segment.bytes })
    if (isBegun) continue
    result.isMade ||= segment.pieces.some(piece => piece.kind === 'record' || piece.kind === 'bad')
    addSegment(chain, segment, base === 'whole')
    if (segment.bytes.length < end) {
      chain.damaged(damageOf(segment, segment.wholeEnd, end - segment.wholeEnd, 'cut off'), 0)
    }
  }
  checkReadable(id, found)
  return result
}

/** What `read` said of the line that is this piece. */
function readingOf(piece: Piece): ReadLine[] {
  if (piece.kind === 'record') return [piece]
  return piece.kind === 'bad' && piece.found ? [piece.found] : []
}

/** What comes behind the last whole line, there and in segments that have no header: an opener seals it away. */
function tellTails(
  chain: Chain,
  newest: ParsedSegment | null,
  newestEpoch: number,
  segments: readonly SegmentBytes[],
): void {
  const tail = newest ? newest.bytes.length - newest.wholeEnd : 0
  if (newest && tail > 0 && !isReleaseBegun(newest)) {
    chain.damaged(damageOf(newest, newest.wholeEnd, tail, 'torn tail'), 0)
  }
  // Its maker died on the way to become owner, or it was the newest and is cut off: bytes can not tell.
  for (const { epoch, bytes } of segments) {
    if (epoch <= newestEpoch || bytes.length === 0) continue
    chain.damaged(damageOf({ epoch, bytes }, 0, bytes.length, 'torn header'), 0)
  }
}

const NO_BYTES = new Uint8Array(0)

/** A maker that wrote a record had become owner, so its segment counts also where its header was damaged later. */
function newestHeaded(segments: readonly SegmentBytes[], lines: SessionLines): ParsedSegment | null {
  for (const { epoch, bytes } of [...segments].sort((a, b) => b.epoch - a.epoch)) {
    const parsed = parseSegment(epoch, bytes, undefined, lines)
    if (headerOf(parsed) || ownRecords(parsed).length > 0) return parsed
  }
  return null
}

function headerOf(segment: ParsedSegment): SegmentHeader | null {
  const first = segment.pieces.find(piece => piece.kind === 'header')
  return first?.kind === 'header' && first.header.epoch === segment.epoch ? first.header : null
}

function ownRecords(segment: ParsedSegment): SessionRecord[] {
  return segment.pieces.flatMap(piece =>
    piece.kind === 'record' && piece.record.epoch === segment.epoch ? [piece.record] : [],
  )
}

/** Where each segment before `segment` ends, ascending: its header says it, or the chain where that is damaged. */
function endsBefore(
  segment: ParsedSegment,
  segments: readonly SegmentBytes[],
  lines: SessionLines,
): Map<number, number> {
  const header = headerOf(segment)
  if (header) {
    const sealed = Object.entries(header.sealed).map(([epoch, end]) => [Number(epoch), end] as const)
    return new Map(sealed.filter(([epoch]) => epoch < segment.epoch).sort((a, b) => a[0] - b[0]))
  }
  const before = newestHeaded(
    segments.filter(one => one.epoch < segment.epoch),
    lines,
  )
  if (!before) return new Map()
  // What has a number that this segment gave again is of a fenced owner.
  const firstSeq = ownRecords(segment)[0]?.seq ?? Number.POSITIVE_INFINITY
  const behind = before.pieces.find(piece => piece.kind === 'record' && piece.record.seq >= firstSeq)
  return endsBefore(before, segments, lines).set(before.epoch, behind?.offset ?? before.wholeEnd)
}

type Base = 'none' | 'whole' | 'partial'

/** A base counts when its last line is whole, when its owner went on behind it, or when somebody relied on it. */
function baseOf(segment: ParsedSegment, isReliedOn: boolean): Base {
  // A base comes before all else: an older line further behind is one that somebody put there.
  const first = segment.pieces.find(piece => piece.kind === 'record')
  const copied = first !== undefined && isCopied(first, segment.epoch)
  if (segment.pieces.some(piece => piece.kind === 'base_end')) return 'whole'
  if (!copied) return 'none'
  return ownRecords(segment).length > 0 || isReliedOn ? 'whole' : 'partial'
}

function isCopied(piece: Piece, epoch: number): boolean {
  return piece.kind === 'record' && piece.record.epoch < epoch
}

function addSegment(chain: Chain, segment: ParsedSegment, hasBase: boolean): void {
  const { epoch, pieces } = segment
  const header = headerOf(segment)
  const reached = () => {
    if (header) chain.reached(header.last_seq, header.prev, damageOf(segment, 0, 0, 'missing'))
  }
  let isInBase = hasBase
  let hasOwn = false
  for (const [index, piece] of pieces.entries()) {
    const isOwn = piece.kind === 'record' && piece.record.epoch === epoch
    if (isOwn && !hasOwn) reached()
    hasOwn ||= isOwn
    if (isOwn || piece.kind === 'base_end') isInBase = false
    if (piece.kind === 'bad') {
      chain.damaged(damageOf(segment, piece.offset, piece.length, 'unreadable'), index === 0 ? 0 : 1)
    } else if (piece.kind === 'record') {
      const place = damageOf(segment, piece.offset, piece.length, 'out of order')
      const isOfEpoch = isInBase ? piece.record.epoch < epoch : piece.record.epoch === epoch
      if (isOfEpoch) chain.record(piece.record, piece.hash, place, nextRecord(pieces, index))
      else chain.damaged({ ...place, reason: 'of a fenced epoch' }, 0)
    }
  }
  if (!hasOwn) reached()
}

function nextRecord(pieces: readonly Piece[], index: number): SessionRecord | null {
  const next = pieces[index + 1]
  return next?.kind === 'record' ? next.record : null
}

function damageOf(segment: SegmentBytes, offset: number, length: number, reason: string): FoundDamage {
  const bytes = segment.bytes.subarray(offset, offset + length)
  return { segment: segmentName(segment.epoch), offset, length, seqs: [], reason, bytes }
}

const RECORD_START_CHARS = 2 // a record begins with the same two

/** A graceful owner that was cut off in its very last line lost nothing. */
function isReleaseBegun(segment: ParsedSegment): boolean {
  const tail = Buffer.from(segment.bytes.subarray(segment.wholeEnd)).toString('latin1')
  return tail.length > RECORD_START_CHARS && RELEASED.startsWith(tail)
}
