/** A run as a person sees it, against the files in golden/: run with UPDATE_GOLDEN=1 to write them anew. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AgentEvent, Clock } from '@beige/protocol'
import { createTranscript, type Terminal } from './transcript.ts'
import { columns } from './visible.ts'

const ESC = '\u001b'
const CODES = /\u001b\[\d+m/g

/** Time that moves by what the events say. */
function handClock(): Clock & { advance(ms: number): void } {
  let at = 0
  return {
    now: () => at,
    monotonic: () => at,
    sleep: () => Promise.reject(new Error('nothing sleeps here')),
    advance: ms => {
      at += ms
    },
  }
}

function screen(width: number, color: boolean, live = false) {
  let text = ''
  const terminal: Terminal = { write: part => (text += part), width, color, live }
  return { terminal, text: () => text }
}

/** The fields of a stream event stand beside `kind`, and the schema leaves them open. */
const stream = (fields: Extract<AgentEvent, { kind: 'stream' }>): AgentEvent => fields
const text = (delta: string): AgentEvent => {
  const fields = { kind: 'stream', type: 'text_delta', index: 0, text: delta } as const
  return stream(fields)
}
const stop = { kind: 'stream', type: 'content_block_stop', index: 0 } as const
const blockEnd: AgentEvent = stream(stop)
const start = (id: string, name: string, input: unknown): AgentEvent => ({
  kind: 'tool_start',
  id,
  name,
  input,
})
const end = (
  id: string,
  name: string,
  output: string,
  more: Partial<Extract<AgentEvent, { kind: 'tool_end' }>> = {},
): AgentEvent => ({
  kind: 'tool_end',
  id,
  name,
  result: [{ type: 'text', text: output }],
  is_error: false,
  outcome: 'done',
  ...more,
})

const DIFF =
  '--- a/src/login.ts\n+++ b/src/login.ts\n@@ -4 +4 @@\n-  if (token.exp < now) {\n+  if (token.exp * 1000 < now) {'

/** The run of the first minutes: `[ms before it, event]`. */
const RUN: readonly (readonly [number, AgentEvent])[] = [
  [0, { kind: 'agent_start', run_id: 'e_1', resumed: false }],
  [0, { kind: 'turn_start', step: 1 }],
  [900, text("I'll run ")],
  [5, text('the test first.\n\n')],
  [0, blockEnd],
  [0, start('c1', 'bash', { command: 'npm test -- login' })],
  [2400, end('c1', 'bash', 'FAIL', { is_error: true, details: { exit_code: 1 } })],
  [0, { kind: 'turn_start', step: 2 }],
  [700, start('c2', 'read', { path: 'src/login.ts', offset: 40, limit: 41 })],
  [0, start('c3', 'read', { path: 'src/no-such-file.ts' })],
  [3, end('c2', 'read', 'x'.repeat(1500))],
  [
    1,
    end('c3', 'read', 'no such file: /workspace/src/no-such-file.ts\nmore', {
      is_error: true,
      details: { code: 'not_found' },
    }),
  ],
  [800, start('c4', 'edit', { path: 'src/login.ts' })],
  [11, end('c4', 'edit', 'edited', { details: { diff: DIFF } })],
  [0, { kind: 'turn_start', step: 3 }],
  [600, { kind: 'message_discarded', reason: 'the connection was cut', attempt: 1 }],
  [600, text('The expiry was compared in seconds against milliseconds. ')],
  [5, text('Fixed; all 14 tests pass.\n\n- `login.ts`: one line\n')],
  [0, blockEnd],
  [0, { kind: 'turn_end', stop_reason: 'end_turn', step: 3 }],
  [0, { kind: 'agent_end', steps: 3, outcome: 'done' }],
]

function shown(width: number, color: boolean): string {
  const clock = handClock()
  const { terminal, text } = screen(width, color)
  const transcript = createTranscript({ terminal, clock })
  for (const [ms, event] of RUN) {
    clock.advance(ms)
    transcript.event(event)
  }
  transcript.end()
  transcript.note('')
  transcript.note('3 turns · 14.2k in (92 % cached) · 611 out · $0.021 · 9.8 s')
  return text()
}

for (const width of [80, 40])
  for (const color of [false, true])
    test(`a run at ${width} columns, ${color ? 'with' : 'without'} colour`, () => {
      const file = new URL(`./golden/run-${width}${color ? '-color' : ''}.txt`, import.meta.url)
      const actual = shown(width, color)
      if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, actual)
      assert.equal(actual, readFileSync(file, 'utf8'))
      assert.equal(actual.replace(CODES, ''), shown(width, false), 'colours change nothing else')
      for (const line of actual.replace(CODES, '').split('\n')) assert.ok(columns(line) <= width, line)
    })

test('control bytes of model and tools are shown, never sent', () => {
  const bad = `${ESC}[2J${ESC}]0;owned\u0007\u009b31m\u202e\r`
  const { terminal, text: written } = screen(80, false)
  const transcript = createTranscript({ terminal, clock: handClock() })
  const diff = `--- ${bad}\n+++ b\n-${bad}\n+${bad}`
  for (const event of [
    text(bad),
    text(`half ${ESC}`),
    text('[31m of a sequence'),
    blockEnd,
    { kind: 'message_discarded', reason: bad, attempt: 1 } as const,
    start('c1', bad, { command: bad }),
    end('c1', bad, bad, { is_error: true, details: { code: bad, diff } }),
    start('c2', 'bash', { command: `echo\n${bad}` }),
    end('c2', 'bash', bad, { is_error: true, details: { signal: bad } }),
  ])
    transcript.event(event)
  transcript.end()
  assert.doesNotMatch(written(), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  assert.match(written(), /\\u001b\[2J/)
})

test('what takes long has a spinner with seconds, and leaves no trace of it', context => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const clock = handClock()
  const { terminal, text: written } = screen(40, false, true)
  const transcript = createTranscript({ terminal, clock })
  const wait = (ms: number) => {
    clock.advance(ms)
    context.mock.timers.tick(ms)
  }
  transcript.event({ kind: 'turn_start', step: 1 })
  wait(300)
  assert.equal(written(), '', 'what is quick needs none')
  wait(900)
  assert.match(written(), /\r\u001b\[K {2}\S thinking 1\.2 s$/)
  transcript.event(start('c1', 'bash', { command: 'sleep 60\nsleep 60' }))
  transcript.event(start('c2', 'read', { path: 'a' }))
  transcript.event(end('c2', 'read', 'x'))
  wait(61_000)
  const last = written().split('\r').at(-1) ?? ''
  assert.match(last, /bash sleep 60 ⏎ sleep 60 1 min 1 s$/)
  assert.ok(columns(last.replace(`${ESC}[K`, '')) < 40)
  transcript.event(end('c1', 'bash', '', { details: { exit_code: 0 } }))
  transcript.event(text('Done.'))
  wait(5000)
  transcript.end()
  const lines = written()
    .split('\n')
    .map(line => line.split(`\r${ESC}[K`).at(-1))
  assert.deepEqual(lines, [
    '  ⎿ read    a                   0 ms  1B',
    '  ⎿ bash    sleep 60…  1 min 1 s  exit 0',
    '⏺ Done.',
    '',
  ])
})
