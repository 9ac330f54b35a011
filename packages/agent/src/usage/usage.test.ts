/** What `agent usage` makes of a ledger, as a person and as a program read it. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import type { LedgerLine } from '@beige/models'
import { usageCommand } from './usage.ts'

const line = (n: number, more: Partial<LedgerLine> = {}): LedgerLine => ({
  v: 1,
  id: `q_${n}`,
  ts: `2026-08-2${n % 2}T12:00:00.000Z`,
  provider: 'anthropic',
  model: 'claude-opus-4-8',
  session: `s_${n % 2}`,
  end: 'done',
  input: 1000,
  output: 10,
  cacheRead: 5,
  cacheWrite: 0,
  costNanoUsd: 1_500_000,
  ...more,
})
const LINES = [
  line(0),
  line(1),
  line(2, { provider: 'openai', model: 'gpt-5', costNanoUsd: 9_000_000, estimated: true }),
  line(3, { end: 'rate_limit', input: 0, output: 0, cacheRead: 0, costNanoUsd: 0 }),
]

async function usage(json: boolean, content: string | null): Promise<{ out: string; err: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'beige-usage-'))
  try {
    if (content !== null) await writeFile(join(folder, 'usage.jsonl'), content)
    const [out, err] = [collector(), collector()]
    const world = { env: { BEIGE_HOME: folder }, cwd: '/', stdout: out.stream, stderr: err.stream }
    assert.equal(await usageCommand(json, world), 0)
    return { out: out.text().replaceAll(folder, 'HOME'), err: err.text().replaceAll(folder, 'HOME') }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function collector() {
  const parts: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      parts.push(String(chunk))
      done()
    },
  })
  return { stream, text: () => parts.join('') }
}
const asLines = (lines: readonly LedgerLine[]) => lines.map(one => `${JSON.stringify(one)}\n`).join('')

test('three tables and a total', async () => {
  const { out, err } = await usage(false, asLines(LINES))
  assert.equal(
    out,
    `\
model                      requests  failed  input  output  cache read  cache write      cost
openai/gpt-5                      1       0  1,000      10           5            0  ~$0.0090
anthropic/claude-opus-4-8         3       1  2,000      20          10            0   $0.0030

day (UTC)   requests  failed  input  output  cache read  cache write      cost
2026-08-20         2       0  2,000      20          10            0  ~$0.0105
2026-08-21         2       1  1,000      10           5            0   $0.0015

session  requests  failed  input  output  cache read  cache write      cost
s_0             2       0  2,000      20          10            0  ~$0.0105
s_1             2       1  1,000      10           5            0   $0.0015

       requests  failed  input  output  cache read  cache write      cost
total         4       1  3,000      30          15            0  ~$0.0120
`,
  )
  assert.equal(err, '')
})

test('one JSON object', async () => {
  const { out } = await usage(true, asLines(LINES))
  const report = JSON.parse(out)
  assert.deepEqual(report.total, {
    requests: 4,
    failed: 1,
    input_tokens: 3000,
    output_tokens: 30,
    cache_read_tokens: 15,
    cache_write_tokens: 0,
    cost_usd: 0.012,
    estimated: 1,
  })
  assert.deepEqual(
    [report.models[0].name, report.days.length, report.sessions.map((one: { name: string }) => one.name)],
    ['openai/gpt-5', 2, ['s_0', 's_1']],
  )
})

test('no ledger, and one that was torn', async () => {
  assert.equal((await usage(false, null)).out, 'no requests yet in HOME/usage.jsonl\n')
  const torn = await usage(true, `${asLines(LINES)}{"v":1,"id"`)
  assert.equal(JSON.parse(torn.out).total.requests, 4)
  assert.match(torn.err, /1 torn or foreign lines/)
})
