/** What a request used, in the message and in the ledger alike, also of streams that end badly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cannedStream } from '@beige/test-support'
import { askFor, type Behaviour, fallbackBench } from '../test/fallback-bench.ts'
import { memoryDisk } from '../test/memory-disk.ts'
import { type LedgerLine, readLedger } from './index.ts'

const SSE = { 'content-type': 'text/event-stream' }
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 30 }
const whole = cannedStream('openai-chat', { text: 'an answer of some length', usage })
const withoutUsage = whole.filter(block => !block.includes('"usage":{'))

async function linesOf(behaviour: Behaviour): Promise<LedgerLine[]> {
  const disk = memoryDisk()
  const state = { directory: '/state', disk }
  await using bench = await fallbackBench({ 'one/a': behaviour }, { state, fallback: { passes: 1 } })
  await askFor(bench.router, 'one/a')
  await bench.router.close()
  const lines: LedgerLine[] = []
  await readLedger({ path: '/state/usage.jsonl', disk }, line => lines.push(line))
  return lines
}
const numbers = ({ end, input, output, cacheRead, costNanoUsd, estimated }: LedgerLine) => ({
  end,
  input,
  output,
  cacheRead,
  costNanoUsd,
  estimated: estimated ?? false,
})

test('an answer: tokens and cost, by the price of its model', async () => {
  const [line] = await linesOf(() => ({ headers: SSE, body: whole }))
  assert.ok(line !== undefined)
  const costNanoUsd = 100 * 2000 + 20 * 10_000 + 30 * 200
  assert.deepEqual(numbers(line), {
    end: 'done',
    input: 100,
    output: 20,
    cacheRead: 30,
    costNanoUsd,
    estimated: false,
  })
  assert.deepEqual([line.provider, line.model, line.session], ['one', 'a', 's_test'])
})

test('a vendor-named field alone', async () => {
  const named = data({ choices: [], x_groq: { usage: { prompt_tokens: 100, completion_tokens: 20 } } })
  const [line] = await linesOf(() => ({
    headers: SSE,
    body: [...withoutUsage.slice(0, -1), named, 'data: [DONE]\n\n'],
  }))
  assert.deepEqual([line?.input, line?.output, line?.estimated], [100, 20, undefined])
})

test('the usage beside an error', async () => {
  const error = data({
    error: { code: 502, message: 'gone' },
    choices: [],
    usage: { prompt_tokens: 100, completion_tokens: 9 },
  })
  const [line] = await linesOf(() => ({ headers: SSE, body: [...withoutUsage.slice(0, 3), error] }))
  assert.deepEqual([line?.end, line?.input, line?.output], ['transient', 100, 9])
})

test('a cut stream is estimated, and says so', async () => {
  const [line] = await linesOf(() => ({ headers: SSE, body: whole.slice(0, 2) }))
  assert.equal(line?.end, 'transient')
  assert.ok(line.input > 0 && line.output > 0 && line.estimated === true, JSON.stringify(line))
})

test('an error answer used nothing and is written down', async () => {
  const [line] = await linesOf(() => ({ status: 429, body: '{}' }))
  assert.deepEqual(
    [line?.end, line?.input, line?.costNanoUsd, line?.estimated],
    ['rate_limit', 0, 0, undefined],
  )
})
