/** How a run is shown: to a person at a terminal, as the final text in a pipe, or as JSON lines for a program. */
import { createTranscript, duration, plural, type Transcript, tokens, visible } from '@beige/client'
import type { Frame, PromptResult } from '@beige/protocol'
import type { ProcessWorld } from '../process-world.ts'

const SPACE = ' '.repeat(6)
const DEFAULT_WIDTH = 80

export type RunHead = { id: string; model: string; cwd: string }

export interface RunOutput {
  begin(head: RunHead): void
  frame(frame: Frame): void
  end(answer: Answer): void
}

/** What became of a task. `problem` says why it did not end well; an abort is the person's own wish and has none. */
export type Answer = {
  result: PromptResult | null
  problem: string | null
  aborted: boolean
  good: boolean
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
    end: ({ result, problem }) => {
      if (problem && !result) stderr.write(`${problem}\n`)
      if (result?.structured_output !== undefined)
        line({ kind: 'structured_output', value: result.structured_output })
    },
  }
}

/** Data for a program: the answer as it is, or nothing where there is none. */
function pipeOutput({ stdout, stderr }: ProcessWorld): RunOutput {
  return {
    begin: () => {},
    frame: () => {},
    end: ({ result, problem, aborted }) => {
      if (problem) stderr.write(`${visible(problem)}\n`)
      if (aborted) stderr.write('[cancelled]\n')
      if (!result || problem || aborted) return
      if (result.structured_output !== undefined)
        stdout.write(`${JSON.stringify(result.structured_output)}\n`)
      else if (result.text !== '') stdout.write(result.text.endsWith('\n') ? result.text : `${result.text}\n`)
      if (result.refused) stderr.write('[refused]\n')
      else stderr.write(`[done in ${usedBy(result)}]\n`)
    },
  }
}

const usedBy = (result: PromptResult) =>
  `${plural(result.steps, 'step')}; ${tokens(inputOf(result))} in / ${tokens(result.output_tokens)} out tokens`

function terminalOutput(world: ProcessWorld): RunOutput {
  const { stdout, env, clock } = world
  const width = () => stdout.columns ?? DEFAULT_WIDTH
  const live = env.TERM !== 'dumb'
  const startedAt = clock.monotonic()
  const transcript: Transcript = createTranscript({
    terminal: {
      write: text => stdout.write(text),
      get width() {
        return width()
      },
      color: live && (env.NO_COLOR ?? '') === '',
      live,
    },
    clock,
  })
  let id = ''
  return {
    begin: head => {
      id = head.id
    },
    frame: frame => {
      if (frame.type === 'event') transcript.event(frame.event)
    },
    end: ({ result, problem }) => {
      transcript.end()
      if (result?.structured_output !== undefined)
        stdout.write(`${JSON.stringify(result.structured_output)}\n`)
      if (problem) transcript.note(visible(problem))
      if (result?.refused) transcript.note('The model refused this task.')
      const facts = result ? [...factsOf(result), duration(clock.monotonic() - startedAt)].join(' · ') : ''
      const session = `session ${id}  (agent run -c to go on)`
      const apart = facts.length + SPACE.length + session.length > width() ? '\n' : SPACE
      transcript.note('')
      transcript.note(`${facts}${facts ? apart : ''}${session}`)
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
