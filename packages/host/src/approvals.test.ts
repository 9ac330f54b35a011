/** Questions about calls: who answers, what is told, what is remembered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApprovalRequest, Frame } from '@beige/protocol'
import { taskScript } from '@beige/test-support'
import { type HostBench, hostBench, response, type TestViewer } from '../test/host-bench.ts'
import type { ApproveSettings } from './approvals.ts'

const CALL = { calls: [{ name: 'count', input: { to: 1 } }] }
const ALL: ApproveSettings = { mode: 'all', timeoutMs: 0 }

/** A viewer that answers each question by `answer`. */
function answering(
  bench: HostBench,
  answer: (question: ApprovalRequest, viewer: TestViewer) => void,
): TestViewer {
  const viewer: TestViewer = bench.viewer(frame => {
    if (frame.type === 'approval_request') setImmediate(() => answer(frame, viewer))
  })
  return viewer
}

const resolved = (frames: readonly Frame[]) =>
  frames.flatMap(frame => (frame.type === 'approval_resolved' ? [frame] : []))
const asked = (frames: readonly Frame[]) =>
  frames.flatMap(frame => (frame.type === 'approval_request' ? [frame] : []))
const results = (frames: readonly Frame[]) =>
  frames.flatMap(frame =>
    frame.type === 'event' && frame.event.kind === 'tool_end'
      ? [frame.event.result.map(block => (block.type === 'text' ? block.text : '')).join('')]
      : [],
  )

test('allowed: it runs; the question says what, what for and why; the first answer wins', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'done' }]), { approve: ALL })
  const live = await bench.open()
  const viewer = answering(bench, ({ request_id }, me) => {
    void live.handle({ type: 'approve', id: 'a', request_id, decision: 'allow' }, me)
    void live.handle({ type: 'approve', id: 'b', request_id, decision: 'deny' }, me)
  })
  live.attach(viewer)
  await live.handle({ type: 'prompt', message: 'go' }, viewer)
  const [question] = asked(viewer.frames)
  assert.deepEqual(
    [question?.tool, question?.summary, question?.why],
    ['count', 'count {"to":1}', 'it does more than reading'],
  )
  assert.deepEqual(
    ['a', 'b'].map(id => response(viewer.frames, id)?.data?.accepted),
    [true, false],
  )
  assert.deepEqual(results(viewer.frames), ['counted'])
  assert.equal(resolved(viewer.frames)[0]?.by, 'test')
})

test('denied: the model is told why, the run goes on', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'done' }]), { approve: ALL })
  const live = await bench.open()
  const viewer = answering(
    bench,
    ({ request_id }, me) =>
      void live.handle({ type: 'approve', request_id, decision: 'deny', reason: 'not on a Sunday' }, me),
  )
  live.attach(viewer)
  await live.handle({ type: 'prompt', id: 'p', message: 'go' }, viewer)
  assert.deepEqual(results(viewer.frames), ['denied: not on a Sunday'])
  assert.equal(response(viewer.frames, 'p')?.success, true)
})

test('unanswered in time: denied', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'done' }]), {
    approve: { mode: 'all', timeoutMs: 20 },
  })
  const live = await bench.open()
  const viewer = bench.viewer()
  live.attach(viewer)
  await live.handle({ type: 'prompt', message: 'go' }, viewer)
  assert.equal(resolved(viewer.frames)[0]?.reason, 'timed_out')
  assert.deepEqual(results(viewer.frames), ['denied: nobody answered in time'])
})

test('nobody there who may drive: denied; one who may only look is nobody, and can not answer', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'done' }]), { approve: ALL })
  const live = await bench.open()
  const looker: TestViewer = bench.viewer(undefined, 'view')
  live.attach(looker)
  await live.handle({ type: 'prompt', message: 'go' }, bench.viewer())
  await live.run?.ended
  assert.equal(resolved(looker.frames)[0]?.reason, 'no_client')
  await live.handle({ type: 'approve', id: 'a', request_id: 'x', decision: 'allow' }, looker)
  assert.equal(response(looker.frames, 'a')?.code, 'forbidden')
})

test('an abort while it is asked ends both', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'never' }]), { approve: ALL })
  const live = await bench.open()
  const viewer = answering(bench, (_question, me) => void live.handle({ type: 'abort', id: 'x' }, me))
  live.attach(viewer)
  await live.handle({ type: 'prompt', id: 'p', message: 'go' }, viewer)
  assert.equal(resolved(viewer.frames)[0]?.reason, 'cancelled')
  assert.equal(response(viewer.frames, 'p')?.code, 'aborted')
})

test('for the session: not asked again, also by the next owner; a new conversation forgets it', async () => {
  await using bench = await hostBench(
    taskScript([CALL, CALL, { text: 'done' }, CALL, { text: 'done' }, CALL, { text: 'done' }]),
    {
      approve: ALL,
    },
  )
  const live = await bench.open()
  const viewer = answering(
    bench,
    ({ request_id }, me) =>
      void live.handle({ type: 'approve', request_id, decision: 'allow', scope: 'session' }, me),
  )
  live.attach(viewer)
  await live.handle({ type: 'prompt', message: 'go' }, viewer)
  assert.deepEqual([asked(viewer.frames).length, results(viewer.frames).length], [1, 2])
  const next = await bench.successor()
  const other = answering(
    bench,
    ({ request_id }, me) => void next.handle({ type: 'approve', request_id, decision: 'deny' }, me),
  )
  next.attach(other)
  await next.handle({ type: 'prompt', message: 'again' }, other)
  assert.equal(asked(other.frames).length, 0)
  assert.ok(results(other.frames).length > 0 && results(other.frames).every(text => text === 'counted'))
  await next.handle({ type: 'new_session' }, other)
  await next.handle({ type: 'prompt', message: 'anew' }, other)
  assert.ok(asked(other.frames).length > 0)
})

test('who comes while it is asked sees the question; a question open at takeover is asked again under a new id', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'done' }]), { approve: ALL })
  const live = await bench.open()
  const questions: string[] = []
  const there = Promise.withResolvers<void>()
  const viewer = bench.viewer(frame => {
    if (frame.type !== 'approval_request') return
    questions.push(frame.request_id)
    setImmediate(() => there.resolve())
  })
  live.attach(viewer)
  const prompt = live.handle({ type: 'prompt', message: 'go' }, viewer)
  await there.promise
  const late = bench.viewer()
  live.attach(late, {})
  const [, catchup] = late.frames
  assert.ok(catchup?.type === 'catchup')
  assert.deepEqual(
    catchup.run?.asks.map(ask => ask.request_id),
    questions,
  )
  assert.equal(catchup.run?.tools[0]?.state, 'asking')
  const again = answering(bench, ({ request_id }, me) => {
    questions.push(request_id)
    void next.handle({ type: 'approve', request_id, decision: 'allow' }, me)
  })
  const next = await bench.successor(again)
  await next.run?.ended
  assert.equal(new Set(questions).size, 2)
  assert.deepEqual(results(again.frames), ['counted'])
  live.run?.abort(new Error('its owner is gone'))
  await prompt
})

test('off asks nothing; tools:… asks about those alone', async () => {
  for (const [mode, questions] of [
    ['off', 0],
    ['writes', 0],
    [{ tools: ['other'] }, 0],
    [{ tools: ['count'] }, 1],
  ] as const) {
    await using bench = await hostBench(taskScript([CALL, { text: 'done' }]), {
      approve: { mode, timeoutMs: 0 },
    })
    const live = await bench.open()
    const viewer = answering(
      bench,
      ({ request_id }, me) => void live.handle({ type: 'approve', request_id, decision: 'allow' }, me),
    )
    live.attach(viewer)
    await live.handle({ type: 'prompt', message: 'go' }, viewer)
    assert.equal(asked(viewer.frames).length, questions, JSON.stringify(mode))
  }
})
