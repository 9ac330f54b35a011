/**
 * A session goes on with another provider, from every wire to every other and in random walks: the vendor's referee takes
 * the request, and nothing that only another vendor could read is in it. The log keeps all of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createModelRouter } from '@beige/models'
import { systemClock } from '@beige/protocol'
import { type SeenRequest, type Turn, type WireName, wireUrl } from '@beige/test-support'
import { APIS, countTool, runBench, WIRES } from '../test/run-bench.ts'
import { run } from './run.ts'

const never = new AbortController().signal
/** What the scripted vendors sign their thinking and name their answers with. */
const OWN: Readonly<Record<WireName, RegExp>> = {
  anthropic: /sig_[\w-]+_\d/,
  bedrock: /sig_[\w-]+_\d/,
  gemini: /"thoughtSignature"/,
  'openai-responses': /enc_rs_|"rs_/,
  'openai-chat': /^$/,
}

/** Thinks, calls twice at once, then answers; everything says which wire it came from. */
function turnOf(request: SeenRequest): Turn {
  const { wire } = request
  if (request.messages.at(-1)?.results.length)
    return { thinking: `Done on ${wire}.`, text: `answer of ${wire}` }
  const calls = [1, 2].map(to => ({ name: 'count', input: { to } }))
  return { thinking: `Thinking on ${wire}.`, text: `I count on ${wire}.`, calls }
}

async function talk(walk: readonly WireName[]) {
  const bench = await runBench(turnOf)
  const router = await createModelRouter({
    providers: Object.fromEntries(
      WIRES.map(wire => [
        wire,
        {
          apiKey: 'k',
          baseUrl: wireUrl(bench.server, wire),
          api: APIS[wire],
          models: [{ id: 'claude-scripted', contextWindow: 100_000, maxTokens: 4096, reasoning: true }],
        },
      ]),
    ),
    env: {},
    clock: systemClock,
    fallback: { passes: 1 },
  })
  let session = await bench.session()
  for (const wire of walk) {
    const tools = [countTool([])]
    const runId = await bench.prompt(session, `go on with ${wire}`)
    const parts = await bench.parts(session, runId, tools)
    const model = router.resolve(`${wire}/claude-scripted`)
    const result = await run({ ...parts, router, model, reasoning: 'medium' }, never)
    assert.equal(result.outcome, 'done', `${walk.join(' > ')}: ${result.error?.message}`)
    assert.equal(result.text, `answer of ${wire}`)
    session = await bench.session() // the next one is another process's
  }
  return { bench, session }
}

function foreign(request: SeenRequest): string[] {
  const text = JSON.stringify(request.body)
  // Anthropic's and Bedrock's scripted signatures look alike, so of each other they are told by the referee alone.
  return WIRES.filter(
    wire => wire !== request.wire && OWN[wire].source !== OWN[request.wire].source && OWN[wire].test(text),
  )
}

for (const from of WIRES)
  for (const to of WIRES)
    test(`${from}, then ${to}, and back`, async () => {
      const { bench, session } = await talk([from, to, from])
      await using _ = bench
      assert.deepEqual(bench.server.refusals, [])
      for (const request of bench.seen) assert.deepEqual(foreign(request), [], `request ${request.index}`)
      // What was said before is all there, whoever said it.
      const last = JSON.stringify(bench.seen.at(-1)?.messages)
      for (const wire of [from, to]) assert.ok(last.includes(`answer of ${wire}`))
      // The log has lost nothing: its own signatures come back when the vendor does.
      const log = JSON.stringify(session.log.records)
      if (from !== 'openai-chat') assert.match(log, from === 'gemini' ? /signature/ : OWN[from])
      const own = bench.seen.filter(request => request.wire === from).at(-1)
      if (from !== 'openai-chat') assert.match(JSON.stringify(own?.body), OWN[from])
    })

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_129)
test(`random walks over the wires (FUZZ_SEED=${SEED})`, async () => {
  let state = SEED
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    return state
  }
  for (let walk = 0; walk < 4; walk++) {
    const wires = Array.from({ length: 6 }, () => WIRES[next() % WIRES.length] ?? 'anthropic')
    const { bench } = await talk(wires)
    await using _ = bench
    assert.deepEqual(bench.server.refusals, [], wires.join(' > '))
    for (const request of bench.seen) assert.deepEqual(foreign(request), [], wires.join(' > '))
  }
})
