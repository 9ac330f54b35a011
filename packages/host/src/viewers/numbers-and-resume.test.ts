/** The rules of numbers, on frames alone: what a client can rely on whatever it asks for and however slowly it reads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EPOCH_STEP, type Frame, PAUSE_BYTES, WINDOW_FRAMES } from '@beige/protocol'
import { faithfulClient } from '@beige/test-support'
import type { AttachAsk } from './attach-ask.ts'
import { createFrames } from './frames.ts'
import type { Viewer } from './viewer.ts'

const EPOCH = 3
const FIRST = EPOCH * EPOCH_STEP

function bench() {
  let ids = 0
  const frames = createFrames({
    epoch: EPOCH,
    newViewerId: () => `v${++ids}`,
    ready: ({ id }) => ({
      ...{ type: 'ready', protocol: 'serve/2', session_id: 's', model: 'm', cwd: '/', cwd_stale: false },
      ...{ epoch: EPOCH, viewer: id, role: 'drive', run_id: null, features: [] },
    }),
    catchUp: () => ({
      type: 'catchup',
      turn_in_flight: false,
      data: { messages: [], leaf_id: 'e1', has_more: false },
      run: null,
    }),
    hasAny: () => true,
    leaf: () => 'e1',
    opening: () => {},
    changed: () => {},
  })
  const tell = (count: number, text = 'x') => {
    for (let n = 0; n < count; n++) frames.numbered({ type: 'session_info_changed', title: text })
  }
  const seen = (ask: AttachAsk | null) => {
    const got: Frame[] = []
    const viewer: Viewer = { origin: { kind: 'test' }, send: frame => got.push(frame) }
    const attachment = frames.attach(viewer, ask)
    return { got, viewer, attachment, types: () => got.map(frame => frame.type) }
  }
  return { frames, tell, seen }
}

test('after the last number: live frames alone', () => {
  const { frames, tell, seen } = bench()
  tell(5)
  const one = seen({ after: frames.seq })
  tell(1)
  assert.deepEqual(one.types(), ['ready', 'session_info_changed'])
})

test('nothing asked: a catchup as of the last number, then the next one', () => {
  const { tell, seen } = bench()
  tell(5)
  const one = seen({})
  tell(1)
  assert.deepEqual(
    one.got.map(frame => [frame.type, frame.seq - FIRST]),
    [
      ['ready', 5],
      ['catchup', 5],
      ['session_info_changed', 6],
    ],
  )
})

test('inside the window: exactly the missing frames, unchanged', () => {
  const { tell, seen } = bench()
  const all = seen({})
  tell(50)
  for (let after = 0; after <= 50; after++) {
    const one = seen({ after: FIRST + after })
    assert.deepEqual(
      one.got.slice(1),
      all.got.filter(
        frame => frame.type !== 'ready' && frame.type !== 'catchup' && frame.seq > FIRST + after,
      ),
      `after ${after}`,
    )
    assert.equal(one.got[0]?.seq, FIRST + after, 'its ready counts from there')
    one.attachment.detach()
  }
})

test('older than the window, of another owner, larger than the last: the gap says which, then a catchup', () => {
  const { frames, tell, seen } = bench()
  tell(WINDOW_FRAMES + 10)
  for (const [after, reason] of [
    [FIRST + 3, 'window'],
    [FIRST - EPOCH_STEP + 7, 'owner'],
    [0, 'owner'],
    [frames.seq + 1, 'ahead'],
    [FIRST + EPOCH_STEP * 2, 'ahead'],
  ] as const) {
    const { got } = seen({ after })
    const [ready, gap, catchup, ...rest] = got
    assert.deepEqual([ready?.type, gap?.type, catchup?.type, rest.length], ['ready', 'gap', 'catchup', 0])
    assert.equal(gap?.type === 'gap' && gap.reason, reason)
    assert.equal(catchup?.seq, frames.seq)
  }
})

test('a viewer that does not read is told of its gap; one beside it misses nothing', () => {
  const { frames, tell, seen } = bench()
  let unread = 0
  let most = 0
  const slow = faithfulClient()
  const viewer: Viewer = {
    origin: { kind: 'test' },
    send: (frame, text) => {
      unread += text.length
      most = Math.max(most, unread)
      slow.take(frame)
    },
    buffered: () => unread,
  }
  const fast = seen({})
  const attachment = frames.attach(viewer, {})
  const large = 'y'.repeat(10_000)
  tell(500, large)
  assert.ok(most < PAUSE_BYTES + 11_000, 'it is written to no more')
  unread = 300_000
  attachment.drained()
  assert.deepEqual(slow.gaps, [], 'not yet: too much of it is unread')
  unread = 0
  attachment.drained()
  assert.deepEqual(slow.gaps, ['slow'])
  assert.equal(slow.seq(), frames.seq)
  tell(1)
  assert.equal(slow.seq(), frames.seq)
  assert.equal(fast.got.filter(frame => frame.type === 'session_info_changed').length, 501)
})

test('a viewer that reads again before the window has moved on gets every frame', () => {
  const { frames, tell, seen } = bench()
  const all = seen({})
  let unread = 0
  const got: Frame[] = []
  const viewer: Viewer = {
    origin: { kind: 'test' },
    send: (frame, text) => {
      unread += text.length
      got.push(frame)
    },
    buffered: () => unread,
  }
  const attachment = frames.attach(viewer, {})
  for (let round = 0; round < 40; round++) {
    tell(12, 'z'.repeat(10_000))
    if (round % 4 !== 3) continue
    unread = 0
    attachment.drained()
  }
  frames.private(viewer, { type: 'heartbeat' })
  const numbered = (frame: Frame) => frame.type === 'session_info_changed'
  assert.deepEqual(got.filter(numbered), all.got.filter(numbered))
})

test('a private frame carries the number of the last numbered frame that its connection was sent', () => {
  const { frames, tell } = bench()
  let isFull = false
  const got: Frame[] = []
  const viewer: Viewer = {
    origin: { kind: 'test' },
    send: frame => got.push(frame),
    buffered: () => (isFull ? PAUSE_BYTES + 1 : 0),
  }
  const attachment = frames.attach(viewer, null)
  tell(2)
  isFull = true
  tell(3)
  frames.private(viewer, { type: 'heartbeat' })
  assert.equal(got.at(-1)?.seq, FIRST + 3, 'frames 4 and 5 are held back')
  isFull = false
  attachment.drained()
  assert.deepEqual(
    got.slice(-2).map(frame => frame.seq - FIRST),
    [4, 5],
  )
})

test('the 65th viewer of a session is refused', () => {
  const { seen } = bench()
  for (let n = 0; n < 64; n++) seen(null)
  assert.throws(() => seen(null), { code: 'too_many_viewers' })
})
