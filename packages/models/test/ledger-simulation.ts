/**
 * Many requests over three wires that answer, fail, stop in the middle and are aborted, beside a reference that counts
 * what was really sent. The ledger must say the same, and no budget may be passed.
 */
import assert from 'node:assert/strict'
import { cannedStream } from '@beige/test-support'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import { type Budget, createModelRouter, type LedgerLine, newRoutingRun, readLedger } from '../src/index.ts'
import { type Reserved, reservedUsage } from '../src/usage.ts'
import { skippingClock } from './fallback-bench.ts'
import { memoryDisk } from './memory-disk.ts'
import { user } from './wires.ts'

const WIRES = { one: 'openai-chat', two: 'anthropic', three: 'openai-responses' } as const
const APIS = { one: 'openai-completions', two: 'anthropic-messages', three: 'openai-responses' } as const
type Provider = keyof typeof WIRES
const PROVIDERS: readonly Provider[] = ['one', 'two', 'three']
const COST = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }
const PROMPT = 'many words that cost something '.repeat(450)
const PAYERS = 4
const STEP_MS = 40_000
const SESSION_USD = 0.15

type Limits = { agentUsd: number; keyTokens: number }
/** Somewhat less than what they would spend in a day. */
function limitsFor(requests: number): Limits {
  const days = Math.max(1, (requests * STEP_MS) / 2 / 86_400_000)
  const perDay = requests / days / PAYERS
  return { agentUsd: perDay * 0.006, keyTokens: Math.round(perDay * 2300) }
}

const AT_ONCE = 12

export type SimulationResult = { requests: number; attempts: number; ends: Readonly<Record<string, number>> }

type Counts = Pick<LedgerLine, 'input' | 'output' | 'cacheRead' | 'cacheWrite'> & { cacheWrite1h: number }
type Expected = Counts & { end: string; provider: string; session: string }

export async function simulateLedger(requests: number, seed: number): Promise<SimulationResult> {
  const random = randomOf(seed)
  const limits = limitsFor(requests)
  const budgets: readonly Budget[] = [
    { per: 'agent', usdPerDay: limits.agentUsd },
    { per: 'key', tokensPerDay: limits.keyTokens },
    { per: 'session', usd: SESSION_USD },
  ]
  const clock = skippingClock()
  const disk = memoryDisk()
  const expected: Expected[] = []
  const ends: Record<string, number> = {}

  /** The network: says what is scripted for a request and writes down what it will have cost. */
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const provider = PROVIDERS.find(one => String(input).includes(`//${one}.`)) ?? 'one'
    const body = String(init?.body ?? '')
    const session = /"(s_\d+) /.exec(body)?.[1] ?? ''
    const record = (end: string, counts: Partial<Counts>): void => {
      expected.push({ ...NOTHING, ...counts, end, provider, session })
    }
    const kind = random(100)
    if (kind < 8) {
      record('rate_limit', {})
      return new Response('{}', { status: 429, headers: { 'retry-after': '1' } })
    }
    if (kind < 16) {
      record('overloaded', {})
      return new Response('{}', { status: 529 })
    }
    if (kind < 20) {
      record('transient', {})
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
      })
    }
    const turn = answerOf(provider, random)
    const blocks = cannedStream(WIRES[provider], { text: turn.text, chunkChars: 8, usage: turn.usage })
    if (isLeft(body)) {
      // Two pieces of text, and then its caller goes.
      const at =
        blocks
          .map((block, i) => (/"(?:text|content|delta)":"x/.test(block) ? i : -1))
          .filter(i => i >= 0)[1] ?? 0
      const unknown = { input: guessed(promptOf(session, true).length), output: guessed(16) }
      record(
        'aborted',
        provider === 'two' ? { ...turn.counts, cacheWrite1h: 0, output: guessed(16) } : unknown,
      )
      return stream(blocks.slice(0, at + 1), init?.signal ?? new AbortController().signal)
    }
    if (kind < 30 && provider === 'two') {
      // Cut behind the first piece of text: the input is known, the output is what was said of it.
      const at = blocks.findIndex(block => block.includes('text_delta')) + 1
      record('transient', { ...turn.counts, cacheWrite1h: 0, output: guessed(8) })
      return stream(blocks.slice(0, at), 'cut')
    }
    if (kind < 40 && provider === 'three') {
      const usage = {
        input_tokens: turn.counts.input + turn.counts.cacheRead,
        input_tokens_details: { cached_tokens: turn.counts.cacheRead },
        output_tokens: 9,
      }
      const error = { code: 'server_error', message: 'gone' }
      record('transient', { ...turn.counts, output: 9 })
      return stream([
        ...blocks.slice(0, 2),
        `event: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response: { status: 'failed', error, usage } })}\n\n`,
      ])
    }
    record('done', { ...turn.counts })
    if (kind < 60 && provider === 'one') {
      const { input, output, cacheRead } = turn.counts
      const named = {
        prompt_tokens: input + cacheRead,
        completion_tokens: output,
        prompt_tokens_details: { cached_tokens: cacheRead },
      }
      const plain = blocks.filter(block => !block.includes('"usage":{'))
      return stream([
        ...plain.slice(0, -1),
        `data: ${JSON.stringify({ choices: [], x_groq: { usage: named } })}\n\n`,
        'data: [DONE]\n\n',
      ])
    }
    const tiers = {
      ephemeral_5m_input_tokens: turn.counts.cacheWrite - turn.counts.cacheWrite1h,
      ephemeral_1h_input_tokens: turn.counts.cacheWrite1h,
    }
    return stream(
      provider === 'two'
        ? blocks.map(block =>
            block.replace(
              '"cache_creation_input_tokens"',
              `"cache_creation":${JSON.stringify(tiers)},"cache_creation_input_tokens"`,
            ),
          )
        : blocks,
    )
  }

  const router = await createModelRouter({
    providers: Object.fromEntries(
      PROVIDERS.map(provider => [
        provider,
        {
          baseUrl: `https://${provider}.example${provider === 'two' ? '' : '/v1'}`,
          api: APIS[provider],
          apiKey: 'k',
          concurrency: 4,
          models: [{ id: `m-${provider}`, contextWindow: 100_000, maxTokens: 400, cost: COST }],
        },
      ]),
    ),
    env: {},
    clock,
    fetch,
    state: { directory: '/state', disk },
    onAttempt: ({ class: end }) => {
      ends[end] = (ends[end] ?? 0) + 1
    },
  })
  let begun = 0
  const worker = async (): Promise<void> => {
    while (begun < requests) {
      const n = begun++
      const first = PROVIDERS[random(3)] ?? 'one'
      const sessionId = `s_${random(Math.ceil(requests / 20))}`
      const scoped = router.for({
        agent: `agent-${random(PAYERS)}`,
        key: `key-${random(PAYERS)}`,
        budgets,
        fallbackModels: PROVIDERS.map(provider => ({ model: `${provider}/m-${provider}` })),
      })
      clock.skip(random(STEP_MS))
      await oneRequest(scoped, first, sessionId, n % 10 === 0)
    }
  }
  const oneRequest = async (
    scoped: typeof router,
    first: Provider,
    sessionId: string,
    isAborted: boolean,
  ) => {
    const stop = new AbortController()
    const answer = scoped.stream({
      sessionId,
      model: scoped.resolve(`${first}/m-${first}`),
      context: normalizeContext({ messages: [user(promptOf(sessionId, isAborted))] }),
      options: { signal: stop.signal, cacheRetention: 'long' },
      run: newRoutingRun(),
      onOutcome: outcome => {
        if (outcome.state === 'failed' && outcome.class === 'budget') ends.budget = (ends.budget ?? 0) + 1
      },
    })
    let pieces = 0
    for await (const event of answer)
      if (event.type === 'text_delta' && ++pieces === 2 && isAborted) stop.abort()
    await answer.result()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  await router.close()

  const lines: LedgerLine[] = []
  const { skipped } = await readLedger({ path: '/state/usage.jsonl', disk }, line => lines.push(line))
  assert.equal(skipped, 0)
  compare(lines, expected)
  const context = normalizeContext({ messages: [user(promptOf('s_1', true))] })
  checkBudgets(lines, limits, reservedUsage(router.resolve('one/m-one'), context, { cacheRetention: 'long' }))
  return { requests, attempts: lines.length, ends }
}

const NOTHING: Counts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0 }

/** Where the provider gave no number: by characters. */
function guessed(chars: number): number {
  return Math.ceil(chars / 3.5)
}

function promptOf(session: string, isAborted: boolean): string {
  return `${session} ${isAborted ? 'left ' : ''}${PROMPT}`
}
function isLeft(body: string): boolean {
  return /"s_\d+ left /.test(body)
}

/** What each spent is at most its limit and one reservation. */
function checkBudgets(lines: readonly LedgerLine[], limits: Limits, most: Reserved): void {
  const money = new Map<string, number>()
  const tokens = new Map<string, number>()
  for (const line of lines) {
    const day = line.ts.slice(0, 10)
    for (const name of [`agent:${line.agent}:${day}`, `session:${line.session}`])
      money.set(name, (money.get(name) ?? 0) + line.costNanoUsd)
    const used = line.input + line.output + line.cacheRead + line.cacheWrite
    tokens.set(`${line.key}:${day}`, (tokens.get(`${line.key}:${day}`) ?? 0) + used)
  }
  for (const [name, nanoUsd] of money) {
    const limitUsd = name.startsWith('agent') ? limits.agentUsd : SESSION_USD
    assert.ok(nanoUsd <= limitUsd * 1e9 + most.nanoUsd, `${name} spent ${nanoUsd}`)
  }
  for (const [name, used] of tokens) assert.ok(used <= limits.keyTokens + most.tokens, `${name} used ${used}`)
}

/** To the last token, line by line: sorted, because requests end in another order than they began. */
function compare(lines: readonly LedgerLine[], expected: readonly Expected[]): void {
  assert.equal(lines.length, expected.length)
  const keyOf = (one: Expected): string =>
    [
      one.session,
      one.provider,
      one.end,
      one.input,
      one.cacheRead,
      one.cacheWrite,
      one.cacheWrite1h,
      one.output,
    ].join(' ')
  const inLedger = lines.map(line => ({ ...line, cacheWrite1h: line.cacheWrite1h ?? 0 }))
  assert.deepEqual(inLedger.map(keyOf).sort(), expected.map(keyOf).sort())
  let costNanoUsd = 0
  for (const line of inLedger) {
    const short = line.cacheWrite - line.cacheWrite1h
    const cost =
      line.input * 3 + line.output * 15 + line.cacheRead * 0.3 + short * 3.75 + line.cacheWrite1h * 6
    assert.ok(Math.abs(line.costNanoUsd - cost * 1000) <= 1, JSON.stringify(line))
    costNanoUsd += line.costNanoUsd
  }
  assert.ok(costNanoUsd > 0)
}

function answerOf(provider: Provider, random: (below: number) => number) {
  const text = 'x'.repeat(40 + random(300))
  const hasWrites = provider === 'two'
  const cacheWrite = hasWrites ? random(900) : 0
  const counts: Counts = {
    input: 1 + random(1500),
    output: Math.ceil(text.length / 4) + random(100),
    cacheRead: random(1500),
    cacheWrite,
    cacheWrite1h: hasWrites ? random(cacheWrite + 1) : 0,
  }
  const usage = {
    inputTokens: counts.input,
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite,
  }
  return { text, counts, usage }
}

/** Gives a block whenever one is asked for; then it ends, breaks, or stands still until it is aborted. */
function stream(blocks: readonly string[], end: 'end' | 'cut' | AbortSignal = 'end'): Response {
  const encoder = new TextEncoder()
  let at = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const block = blocks[at++]
        if (block !== undefined) return controller.enqueue(encoder.encode(block))
        if (end === 'end') return controller.close()
        if (end === 'cut')
          return controller.error(Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }))
        if (!end.aborted) await new Promise(resolve => end.addEventListener('abort', resolve, { once: true }))
        controller.error(end.reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
