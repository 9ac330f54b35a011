/** How a run is shown: to a person at a terminal, as the final text in a pipe, or as JSON lines for a program. */
import { createTranscript, duration, plural, type Transcript, tokens } from '@beige/client'
import type { Frame, PromptResult } from '@beige/protocol'
import type { ProcessWorld } from '../process-world.ts'

const SPACE = ' '.repeat(6)

export type RunHead = { id: string; model: string; cwd: string }

export interface RunOutput {
  begin(head: RunHead): void
  frame(frame: Frame): void
  /** `text` of the answer; `problem` when it did not end well. */
  end(result: PromptResult | null, problem: string | null): void
}

export function runOutput(world: ProcessWorld, json: boolean): RunOutput {
  if (json) return jsonOutput(world)
  return world.stdout.isTTY === true ? terminalOutput(world) : pipeOutput(world)
}

function jsonOutput({ stdout, stderr }: ProcessWorld): RunOutput {
  const line = (value: unknown) => stdout.write(`${JSON.stringify(value)}\n`)
  return {
    begin: head => line({ kind: 'session', ...head }),
    frame: frame => {
      if (frame.type === 'event') line({ ...frame.event, seq: frame.seq, run_id: frame.run_id })
    },
    end: (result, problem) => {
      if (problem && !result) stderr.write(`${problem}\n`)
    },
  }
}

function pipeOutput({ stdout, stderr }: ProcessWorld): RunOutput {
  return {
    begin: () => {},
    frame: () => {},
    end: (result, problem) => {
      if (result && result.text !== '')
        stdout.write(result.text.endsWith('\n') ? result.text : `${result.text}\n`)
      if (result?.stop_reason === 'aborted') return void stderr.write('[cancelled]\n')
      if (problem) stderr.write(`${problem}\n`)
      if (!result) return
      const used = `${tokens(inputOf(result))} in / ${tokens(result.output_tokens)} out tokens`
      stderr.write(`[${result.refused ? 'refused' : 'done'} in ${plural(result.steps, 'step')}; ${used}]\n`)
    },
  }
}

function terminalOutput(world: ProcessWorld): RunOutput {
  const { stdout, env, clock } = world
  const color = (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
  const startedAt = clock.monotonic()
  const transcript: Transcript = createTranscript({
    terminal: {
      write: text => stdout.write(text),
      width: stdout.columns ?? 80,
      color,
      live: env.TERM !== 'dumb',
    },
    clock,
  })
  let head: RunHead | null = null
  return {
    begin: begun => {
      head = begun
    },
    frame: frame => {
      if (frame.type === 'event') transcript.event(frame.event)
    },
    end: (result, problem) => {
      transcript.end()
      if (problem) transcript.note(`\n${problem}`)
      const facts = result ? [...factsOf(result), duration(clock.monotonic() - startedAt)].join(' · ') : ''
      const session = `session ${head?.id ?? ''}  (agent run -c to go on)`
      const apart = facts.length + SPACE.length + session.length > (stdout.columns ?? 80) ? '\n' : SPACE
      transcript.note(`\n${facts}${facts ? apart : ''}${session}`)
    },
  }
}

const inputOf = (result: PromptResult) =>
  result.input_tokens + result.cache_read_tokens + result.cache_write_tokens

function factsOf(result: PromptResult): string[] {
  const input = inputOf(result)
  const cached =
    result.cache_read_tokens > 0 ? ` (${Math.round((100 * result.cache_read_tokens) / input)} % cached)` : ''
  const cost =
    typeof result.cost_usd === 'number' && result.cost_usd > 0 ? [`$${result.cost_usd.toFixed(3)}`] : []
  return [
    plural(result.steps, 'turn'),
    `${tokens(input)} in${cached}`,
    `${tokens(result.output_tokens)} out`,
    ...cost,
  ]
}
