/** The same records as other lines: chained anew, under the key that writes now. */
import type { RecordBody, SessionRecord } from '@beige/protocol'
import { type EncodedRecord, FIRST_PREV, type PreparedBody } from '../record-line.ts'
import type { SessionLines } from '../session-lines.ts'

export function encodeAgain(records: readonly SessionRecord[], lines: SessionLines): EncodedRecord[] {
  let prev = FIRST_PREV
  return records.map(record => {
    const { seq, epoch, at } = record
    const one = lines.encode(bodyAgain(record), { seq, epoch, prev, at })
    prev = one.hash
    return one
  })
}

const UNKNOWN: RecordBody = { type: 'custom', kind: 'unknown' } // never looked at: the text alone is written

function bodyAgain(record: SessionRecord): PreparedBody {
  const { seq: _, epoch: __, prev: ___, at: ____, ...body } = record
  if (body.type !== 'unknown') return { text: JSON.stringify(body), value: body }
  const { seq: _s, epoch: _e, prev: _p, at: _a, ...raw } = Object(body.raw)
  return { text: JSON.stringify(raw), value: UNKNOWN }
}
