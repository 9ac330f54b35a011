import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ContentBlock,
  type ModelRef,
  newCallId,
  newEntryId,
  newSessionId,
  type ResultBlock,
  systemClock,
  systemRandom,
} from '@beige/protocol'
import { createMemoryStore } from '@beige/sessions'
import { thinkingSignature } from '@beige/test-support'
import type { Message } from '@earendil-works/pi-ai'
import { countTool, runBench, WIRES } from '../test/run-bench.ts'
import { noticeRecord } from './jobs/session-notes.ts'
import { toProviderHistory } from './provider-history.ts'
import { run } from './run.ts'
import { openedSession, type Session } from './session.ts'

const CASES = Number(process.env.FUZZ_CASES ?? 60)
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 1e9))
const never = new AbortController().signal

/** Numbers in [0, 1) from a start number (mulberry32). */
function dice(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const MODELS: readonly ModelRef[] = [
  { provider: 'fake', id: 'scripted', api: 'anthropic-messages' },
  { provider: 'fake', id: 'scripted', api: 'openai-completions' },
  { provider: 'fake', id: 'scripted', api: 'openai-responses' },
  { provider: 'other', id: 'elsewhere', api: 'google-generative-ai' },
]
let reasoningItems = 0
/** As the vendor would have signed it; ours is sent back only to the model that made it. */
function signatureOf(api: string | undefined, text: string): string {
  if (api === 'anthropic-messages') return thinkingSignature(text)
  return JSON.stringify({
    type: 'reasoning',
    id: `rs_${++reasoningItems}`,
    summary: [],
    encrypted_content: 'c2ln',
  })
}
const TEXTS = ['fine', '', 'a lone \ud800 surrogate', '漢字\r\n', '\u0000', ' ']
const PIXEL: ResultBlock = {
  type: 'image',
  media_type: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
}

/** Writes runs as crashes, aborts, other providers and older versions of us may have left them. */
async function ruins(session: Session, roll: () => number): Promise<void> {
  const pick = <T>(from: readonly T[]): T => {
    const chosen = from[Math.floor(roll() * from.length)]
    if (chosen === undefined) throw new Error('nothing to pick from')
    return chosen
  }
  const outcome = () => pick(['done', 'interrupted', 'unknown'] as const)
  const id = () => newEntryId(systemClock, systemRandom)
  const leaf = () => session.state().leaf
  const maybeNotice = async () => {
    if (roll() < 0.7) return
    const text = `<notice>\n${pick(TEXTS)}\n</notice>`
    await session.append(noticeRecord({ key: `k${roll()}`, text, after: leaf() }))
  }
  /** Folds any part of the branch, to a place that may be lost, and leaves the branch for any other place. */
  const maybeElsewhere = async () => {
    const entries = session.state().entries.map(entry => entry.id as string)
    const places = [null, 'e_lost', ...entries, ...entries]
    const dice = roll()
    if (dice < 0.2) {
      await session.append({
        ...{ type: 'compaction', id: id(), parent_id: leaf(), folded_to: pick(places), summary: pick(TEXTS) },
        ...{ files_read: [], files_modified: [], tokens_before: 9, tokens_after: 1 },
      })
    } else if (dice < 0.3) {
      await session.append({ type: 'leaf', target_id: pick(places) })
    } else if (dice < 0.4) {
      await session.append({ type: 'branch', id: id(), target_id: pick(places), summary: pick(TEXTS) })
    } else if (dice < 0.5) {
      const steer = [{ type: 'text' as const, text: pick(TEXTS) }]
      await session.append({ type: 'message', id: id(), parent_id: leaf(), role: 'user', content: steer })
    }
  }
  for (let runs = Math.floor(roll() * 5); runs > 0; runs--) {
    const runId = id()
    await maybeElsewhere()
    const message: ResultBlock[] = [{ type: 'text', text: pick(TEXTS) }, ...(roll() < 0.2 ? [PIXEL] : [])]
    // Damage may have taken the prompt.
    if (roll() < 0.85)
      await session.append({
        type: 'prompt',
        id: runId,
        parent_id: leaf(),
        message,
        origin: { kind: 'test' },
      })
    await maybeNotice()
    for (let turns = Math.floor(roll() * 4); turns > 0; turns--) {
      const content: ContentBlock[] = []
      const model = pick(MODELS)
      if (roll() < 0.4) {
        const text = pick(TEXTS).toWellFormed()
        const signature = roll() < 0.5 ? { signature: signatureOf(model.api, text) } : {}
        content.push({ type: 'thinking', text, ...signature })
      }
      if (roll() < 0.6) content.push({ type: 'text', text: pick(TEXTS) })
      const calls = Math.floor(roll() * 4)
      for (let call = 0; call < calls; call++) {
        content.push({
          type: 'tool_call',
          id: newCallId(systemClock, systemRandom),
          ...(roll() < 0.8 ? { provider_id: pick(['toolu_same', `toolu_${Math.floor(roll() * 1e6)}`]) } : {}),
          name: 'count',
          input: pick([{ to: 1 }, {}, { to: '\ud800' }]),
        })
      }
      await session.append({
        type: 'message',
        id: id(),
        parent_id: leaf(),
        role: 'assistant',
        content,
        model,
        stop_reason: calls > 0 ? 'tool_use' : 'end_turn',
      })
      for (const block of content) {
        if (block.type !== 'tool_call' || roll() < 0.2) continue
        await session.append({
          type: 'tool_started',
          call_id: block.id,
          name: 'count',
          input: block.input,
          idempotent: false,
        })
        if (roll() < 0.25) continue
        const results: ResultBlock[] = [
          ...(roll() < 0.8 ? [{ type: 'text' as const, text: pick(TEXTS) }] : []),
          ...(roll() < 0.2 ? [PIXEL] : []),
        ]
        await session.append({
          type: 'tool_finished',
          call_id: block.id,
          content: results,
          is_error: roll() < 0.3,
          outcome: outcome(),
        })
      }
      await maybeNotice()
      await maybeElsewhere()
    }
    if (roll() < 0.7)
      await session.append({
        type: 'run_end',
        run_id: runId,
        outcome: pick(['done', 'aborted', 'failed'] as const),
        steps: 1,
      })
  }
}

for (const wire of WIRES) {
  test(`${wire} takes whatever a log was left as (FUZZ_SEED=${SEED} FUZZ_CASES=${CASES})`, async () => {
    for (let number = 0; number < CASES; number++) {
      await using bench = await runBench([{ text: 'understood' }], wire)
      const session = await bench.session()
      await ruins(session, dice(SEED + number))
      const runId = await bench.prompt(session, 'go on')
      const result = await run(await bench.parts(session, runId, [countTool([])]), never)
      assert.deepEqual(bench.server.refusals, [], `case ${number} of seed ${SEED}`)
      assert.equal(result.outcome, 'done', `case ${number} of seed ${SEED}: ${result.error?.message}`)
    }
  })
}

test(`calls have one result each, in order, and ids are unique, for any target (FUZZ_SEED=${SEED})`, async () => {
  for (let number = 0; number < CASES * 2; number++) {
    const roll = dice(SEED + number)
    const session = await emptySession()
    await ruins(session, roll)
    for (const model of [...MODELS, { provider: 'new', id: 'x', api: 'bedrock-converse-stream' }]) {
      const target = { provider: model.provider, api: model.api ?? '', id: model.id, vision: roll() < 0.5 }
      const history = toProviderHistory(session.state().context, target, session.notes().notices)
      const what = `case ${number} of seed ${SEED}, ${target.api}`
      assert.ok(
        history[0] === undefined || history[0].role === 'user',
        `${what}: begins with ${history[0]?.role}`,
      )
      const asked: string[] = []
      const ids = new Set<string>()
      for (const message of history) {
        if (message.role === 'toolResult') {
          assert.equal(message.toolCallId, asked.shift(), what)
          assert.ok(message.content.length > 0, what)
          continue
        }
        assert.equal(asked.length, 0, `${what}: not all calls are answered`)
        assert.ok(message.content.length > 0, what)
        if (message.role !== 'assistant') continue
        for (const block of message.content) {
          if (block.type !== 'toolCall') continue
          assert.ok(!ids.has(block.id), `${what}: ${block.id} twice`)
          ids.add(block.id)
          asked.push(block.id)
        }
      }
      assert.equal(asked.length, 0, what)
      assert.ok(target.vision || !JSON.stringify(history).includes('"type":"image"'), what)
      assert.deepEqual(toProviderHistory(session.state().context, target, session.notes().notices), history)
      checkNothingIsLeftOut(session, history, what)
    }
  }
})

/** Each prompt that no compaction folded is there, in order, and each text of an answer. */
function checkNothingIsLeftOut(session: Session, history: readonly Message[], what: string): void {
  const sent = JSON.stringify(history)
  let at = 0
  for (const entry of session.state().context) {
    const texts =
      entry.kind === 'summary'
        ? [entry.text]
        : (entry.kind === 'prompt' ? entry.body.message : entry.body.content).flatMap(block =>
            block.type === 'text' ? [block.text] : [],
          )
    for (const text of texts) {
      if (text.trim() === '') continue
      const found = sent.indexOf(JSON.stringify(text.toWellFormed()).slice(1, -1), at)
      assert.ok(found >= 0, `${what}: ${JSON.stringify(text)} of ${entry.id} is left out`)
      at = found
    }
  }
}

async function emptySession(): Promise<Session> {
  const store = createMemoryStore({ clock: systemClock, random: systemRandom })
  return openedSession(await store.create({ id: newSessionId(systemClock, systemRandom), cwd: '/w' }))
}

test('a notice keeps its place: in the message of the user that comes next, or as one of its own', async () => {
  await using bench = await runBench([])
  const session = await bench.session()
  const target = { provider: 'fake', api: 'anthropic-messages', id: 'scripted', vision: true }
  const history = () =>
    toProviderHistory(session.state().entries, target, session.notes().notices).map(({ role, content }) =>
      JSON.stringify([role, content]),
    )
  const tell = (text: string) =>
    session.append(noticeRecord({ key: text, text, after: session.state().leaf }))
  await bench.prompt(session, 'first')
  await tell('at the beginning')
  await session.append({
    ...{ type: 'message', id: newEntryId(systemClock, systemRandom), parent_id: session.state().leaf },
    ...{ role: 'assistant', content: [{ type: 'text', text: 'answer' }], stop_reason: 'end_turn' },
  })
  await tell('in between')
  const before = history()
  assert.match(before[0] ?? '', /first.*at the beginning/)
  assert.match(before[2] ?? '', /^\["user".*in between/)
  await bench.prompt(session, 'second')
  const after = history()
  assert.match(after[2] ?? '', /in between.*second/)
  assert.deepEqual(after.slice(0, 2), before.slice(0, 2))
  await tell('in between') // its key is known
  assert.deepEqual(history(), after)
})
