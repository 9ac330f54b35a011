/**
 * Shows a run on a terminal as it goes on: text as it streams, a line a tool call, edits as diffs, a spinner while
 * something takes long. Knows nothing of the process it runs in: what it writes to and its clock are handed in.
 */
import type { AgentEvent, Clock, ResultBlock } from '@beige/protocol'
import { duration } from './amounts.ts'
import { createFlow, flowed } from './flow.ts'
import { diffLines, factsOf, lineOf, subjectOf } from './tool-line.ts'
import { oneLine, padded, visible } from './visible.ts'

export type Terminal = {
  write(text: string): void
  /** Columns; may change while it runs. */
  readonly width: number
  color: boolean
  /** False: no line is ever rewritten. */
  live: boolean
}

export type TranscriptOptions = { terminal: Terminal; clock: Clock; speaker?: string; maxDiffLines?: number }

export interface Transcript {
  event(event: AgentEvent): void
  /** A line of the program's own, between events. */
  note(text: string): void
  /** Takes the spinner away; nothing is written after it. */
  end(): void
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SPIN_EVERY_MS = 100
const SPIN_AFTER_MS = 400 // what is quicker needs no spinner
const DEFAULT_DIFF_LINES = 20

export function createTranscript(options: TranscriptOptions): Transcript {
  const { terminal, clock } = options
  const paint = painter(terminal.color)
  const calls = new Map<string, { name: string; subject: string; startedAt: number }>()
  const speech = createFlow({
    write: part => {
      erase()
      terminal.write(part)
    },
    width: () => terminal.width,
    indent: options.speaker ? 11 : 2,
    lead: options.speaker ? `  ${padded(options.speaker, 8)} ` : `${paint.accent('⏺')} `,
  })
  let doing: { what: string; since: number } | null = null
  let frame = 0
  let spinning = false
  let timer: ReturnType<typeof setInterval> | null = null

  const erase = () => {
    if (spinning) terminal.write('\r\x1b[K')
    spinning = false
  }
  const spin = () => {
    if (!doing || speech.open) return
    const ms = clock.monotonic() - doing.since
    if (ms < SPIN_AFTER_MS) return
    const line = `${SPINNER[frame++ % SPINNER.length]} ${doing.what} ${duration(ms)}`
    terminal.write(`\r\x1b[K  ${paint.dim(oneLine(line, terminal.width - 3))}`)
    spinning = true
  }
  const busy = (what: string | null, since = clock.monotonic()) => {
    doing = what === null ? null : { what, since }
    if (!terminal.live) return
    if (doing && !timer) {
      timer = setInterval(spin, SPIN_EVERY_MS)
      timer.unref()
    }
    if (!doing) {
      erase()
      if (timer) clearInterval(timer)
      timer = null
    }
  }
  /** The call that began last of those that still run. */
  const busyWithCall = () => {
    const call = [...calls.values()].at(-1)
    if (call) busy(`${call.name} ${oneLine(call.subject, 60)}`, call.startedAt)
    else busy(null)
  }
  const line = (text: string) => {
    speech.end()
    erase()
    terminal.write(`${text}\n`)
  }

  function toolEnd(event: Extract<AgentEvent, { kind: 'tool_end' }>): void {
    const call = calls.get(event.id)
    calls.delete(event.id)
    const details = event.details ?? {}
    const outputBytes = event.result.reduce(
      (sum, block) => sum + (block.type === 'text' ? Buffer.byteLength(block.text) : block.data.length),
      0,
    )
    const facts = factsOf(details, {
      ms: call ? clock.monotonic() - call.startedAt : 0,
      isError: event.is_error,
      outcome: event.outcome,
      outputBytes,
    })
    const shown = lineOf({ name: event.name, subject: call?.subject ?? '', facts }, terminal.width)
    line(`  ${paint.dim('⎿')} ${event.is_error ? paint.bad(shown) : shown}`)
    if (event.is_error && event.outcome === 'done' && typeof Reflect.get(details, 'exit_code') !== 'number')
      reason(event.result)
    const changed = diffLines(Reflect.get(details, 'diff'))
    const limit = options.maxDiffLines ?? DEFAULT_DIFF_LINES
    for (const one of changed.slice(0, limit)) {
      const cut = oneLine(one, Math.max(10, terminal.width - 8)).replace(/^([-+])/, '$1 ')
      line(`    ${paint.dim('│')} ${one.startsWith('+') ? paint.good(cut) : paint.bad(cut)}`)
    }
    if (changed.length > limit) line(`    ${paint.dim(`│ … ${changed.length - limit} more lines`)}`)
  }

  /** Why a call failed, in its own words. */
  function reason(result: readonly ResultBlock[]): void {
    const words = result.map(block => (block.type === 'text' ? block.text : '')).join(' ')
    const cut = oneLine(words, Math.max(10, terminal.width - 7))
    if (cut !== '') line(`    ${paint.dim('│')} ${cut}`)
  }

  return {
    event: event => {
      switch (event.kind) {
        case 'turn_start':
          return busy('thinking')
        case 'stream':
          if (event.type === 'text_delta' && 'text' in event && typeof event.text === 'string') {
            speech.push(visible(event.text))
          } else if (event.type === 'content_block_stop') speech.end()
          return
        case 'message_discarded':
          return line(paint.dim(`  (discarded: ${oneLine(event.reason, 200)})`))
        case 'model_switched':
          return line(paint.dim(`  (answered by ${oneLine(event.model, 100)})`))
        case 'waiting':
          return busy(`waiting for ${oneLine(event.provider, 40)}, place ${event.position}`)
        case 'tool_start': {
          const subject = subjectOf(event.input)
          calls.set(event.id, { name: event.name, subject, startedAt: clock.monotonic() })
          return busyWithCall()
        }
        case 'tool_end':
          toolEnd(event)
          return busyWithCall()
        case 'agent_end':
          return busy(null)
        case 'steered':
          for (const { text } of event.messages) line(paint.dim(`  > ${oneLine(visible(text), 200)}`))
          return
        case 'compaction_start':
          return busy('compacting')
        case 'compacted':
          return line(paint.dim(`  (compacted ${event.tokens_before} tokens to ${event.tokens_after})`))
        case 'compaction_failed':
          return line(paint.dim(`  (not compacted: ${oneLine(event.message, 200)})`))
        case 'agent_start':
        case 'tool_progress':
        case 'tools_updated':
        case 'job_update':
        case 'committed':
        case 'turn_end':
        case 'error':
          return
        default:
          return event satisfies never
      }
    },
    note: text => line(flowed(text, terminal.width)),
    end: () => {
      busy(null)
      speech.end()
    },
  }
}

function painter(color: boolean) {
  const code = (open: number) => (text: string) => (color ? `\x1b[${open}m${text}\x1b[0m` : text)
  return { dim: code(2), bad: code(31), good: code(32), accent: code(36) }
}
