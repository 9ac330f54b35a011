/** Viewers that drop at any frame of running turns and come back, beside one that never does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EPOCH_STEP } from '@beige/protocol'
import { type FaithfulClient, faithfulClient, type Turn } from '@beige/test-support'
import type { LiveSession } from '../src/live-session.ts'
import type { Viewer } from '../src/viewers/viewer.ts'
import { hostBench } from './host-bench.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 1)
const DROPS = Number(process.env.FUZZ_CASES ?? 1000)
const VIEWERS = 5
const SENTENCE = 'Each of these words comes in a piece of its own. '

const script = (request: { messages: readonly { role: string; results: readonly unknown[] }[] }): Turn => {
  const last = request.messages.at(-1)
  if (last && last.results.length > 0) return { text: SENTENCE.repeat(6), chunkChars: 7 }
  return { text: SENTENCE.repeat(3), chunkChars: 5, calls: [{ name: 'count', input: { to: 3 } }] }
}

/** A viewer that goes away by itself now and then, and asks for what it missed when it comes back. */
function dropping(live: () => LiveSession, dice: () => number, ask: (client: FaithfulClient) => object) {
  const client = faithfulClient()
  let drops = 0
  let isGone = false
  const viewer: Viewer = {
    origin: { kind: 'test' },
    send: frame => {
      if (isGone) return
      client.take(frame)
      if (frame.type === 'ready' || dice() % 40 > 0) return
      isGone = true
      drops++
      live().frames.attachmentOf(viewer)?.detach()
      // It comes back at any later moment, also in the same one.
      let turns = dice() % 4
      const back = () => {
        if (turns-- > 0) return void setImmediate(back)
        isGone = false
        live().attach(viewer, ask(client))
      }
      back()
    },
  }
  return { client, viewer, drops: () => drops }
}

test(`${DROPS} drops at random frames of running turns, ${VIEWERS} viewers: each sees every frame once, in order (seed ${SEED})`, async () => {
  const dice = random(SEED)
  await using bench = await hostBench(script)
  const live = await bench.open()
  const steady = faithfulClient()
  live.attach({ origin: { kind: 'test' }, send: frame => steady.take(frame) }, {})
  const viewers = Array.from({ length: VIEWERS }, () =>
    dropping(
      () => live,
      dice,
      client => ({ after: client.seq() ?? undefined }),
    ),
  )
  for (const { viewer } of viewers) live.attach(viewer, {})
  const drops = () => viewers.reduce((sum, one) => sum + one.drops(), 0)
  for (let run = 0; drops() < DROPS; run++) {
    await live.handle({ type: 'prompt', message: `go ${run}` }, bench.viewer())
    // A window's length behind is a gap, as it should be: they catch up before the next run.
    while (viewers.some(one => one.client.seq() !== steady.seq()))
      await new Promise(resolve => setImmediate(resolve))
  }
  for (const { client } of viewers) {
    assert.deepEqual(client.gaps, [])
    assert.deepEqual(client.taken, steady.taken)
    assert.deepEqual(client.texts, steady.texts)
    assert.deepEqual([...client.messages.keys()], [...steady.messages.keys()])
  }
  assert.ok(steady.texts.some(text => text === SENTENCE.repeat(6)))
})

test(`whatever is asked for, over two takeovers: the same messages as who never dropped (seed ${SEED})`, async () => {
  const dice = random(SEED + 1)
  await using bench = await hostBench(script)
  let live = await bench.open()
  const asks = (client: FaithfulClient) => {
    const seq = client.seq() ?? 0
    const after = [seq, seq, seq, 0, seq + 1_000_000 + (dice() % 100), seq - EPOCH_STEP][dice() % 6] ?? 0
    return dice() % 5 === 0 ? {} : { after: Math.max(0, after) }
  }
  const viewers = Array.from({ length: 3 }, () => dropping(() => live, dice, asks))
  for (let owner = 0; owner < 3; owner++) {
    for (const { viewer } of viewers) if (!live.frames.attachmentOf(viewer)) live.attach(viewer, {})
    for (let run = 0; run < 5; run++)
      await live.handle({ type: 'prompt', message: `go ${run}` }, bench.viewer())
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
    for (const { viewer } of viewers) live.frames.attachmentOf(viewer)?.detach()
    if (owner < 2) live = await bench.successor()
  }
  const truth = live.session
    .state()
    .entries.flatMap(entry => [
      entry.id,
      ...(entry.kind === 'message' ? entry.calls.map(call => call.id) : []),
    ])
  for (const { client, viewer } of viewers) {
    live.attach(viewer, { history: 'all' })
    assert.deepEqual([...client.messages.keys()].sort(), [...truth].sort())
  }
})

/** xorshift32 */
function random(seed: number): () => number {
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}
