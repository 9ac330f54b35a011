/** `agent run TASK…`: the tasks in order as turns of one session, then out. */
import type { LiveSession, Viewer } from '@beige/host'
import { BeigeError, explain, type Frame, type PromptResult, promptResult } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { agentHost } from '../agent-host.ts'
import { fail } from '../errors.ts'
import { agentOptions, type RawOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { whichSession } from '../which-session.ts'
import { type RunOutput, runOutput } from './output.ts'
import { stopSignals } from './stop-signals.ts'

const EXIT_HELD = 75 // EX_TEMPFAIL of sysexits.h: another live owner has the session

/** Answers the exit code. Throws what is wrong before any model call; the edge renders that with exit code 2. */
export async function runCommand(
  tasks: readonly string[],
  raw: RawOptions,
  world: ProcessWorld,
): Promise<number> {
  if (tasks.every(task => task.trim() === ''))
    throw fail('usage', { reason: 'no task was given', command: 'run' })
  const options = agentOptions(raw, world)
  const stop = stopSignals(world)
  const output = runOutput(world, raw.json ?? false)
  const agent = await agentHost(options, world, options.resume ? 'resume' : 'close')
  try {
    const id = await whichSession(options, world.cwd, agent.store, world)
    const live = await agent.host.session(id, { cwd: world.cwd, model: agent.model })
    output.begin({ id, model: agent.model, cwd: world.cwd })
    for (const damage of live.session.log.damage) {
      world.stderr.write(`warning: ${damage.segment} is damaged at byte ${damage.offset}: ${damage.reason}\n`)
    }
    const good = await inOrder(tasks, live, output, options.idempotencyKey, stop.signal)
    if (stop.exitCode() !== null)
      world.stderr.write(`stopped; nothing is left running. Go on: agent run --session-id ${id} "…"\n`)
    return stop.exitCode() ?? (good ? 0 : 1)
  } catch (error) {
    if (!(error instanceof BeigeError) || error.code !== 'session_busy') throw error
    world.stderr.write(`${explain(error)}\n`)
    return EXIT_HELD
  } finally {
    await agent.close(new DOMException('the command has ended', 'AbortError'))
    stop.dispose()
  }
}

async function inOrder(
  tasks: readonly string[],
  live: LiveSession,
  output: RunOutput,
  key: string | null,
  signal: AbortSignal,
): Promise<boolean> {
  for (const [index, message] of tasks.entries()) {
    if (signal.aborted) return false
    const answer = await oneTask(message, key === null ? null : `${key}:${index}`, live, output, signal)
    output.end(answer.result, answer.problem)
    if (!answer.good) return false
  }
  return true
}

type Answer = { result: PromptResult | null; problem: string | null; good: boolean }
type Response = Extract<Frame, { type: 'response' }>

async function oneTask(
  message: string,
  key: string | null,
  live: LiveSession,
  output: RunOutput,
  signal: AbortSignal,
): Promise<Answer> {
  const responses: Response[] = []
  const abort = () => live.run?.abort(signal.reason)
  const viewer: Viewer = {
    origin: { kind: 'local' },
    send: frame => {
      if (signal.aborted) abort() // it came before there was a run to stop
      if (frame.type === 'response' && frame.command === 'prompt') responses.push(frame)
      output.frame(frame)
    },
  }
  const detach = live.attach(viewer)
  signal.addEventListener('abort', abort)
  try {
    await live.handle({ type: 'prompt', message, ...(key === null ? {} : { idempotency_key: key }) }, viewer)
  } finally {
    signal.removeEventListener('abort', abort)
    detach()
  }
  const [response] = responses
  return response ? answerOf(response) : { result: null, problem: 'the session gave no answer', good: false }
}

const isPromptResult = compile(promptResult).check

function answerOf(response: Response): Answer {
  const result = isPromptResult(response.data) ? response.data : null
  if (response.success) return { result, problem: null, good: !result?.refused }
  const advice = response.advice ? `. ${response.advice}` : ''
  return { result, problem: `${response.error ?? 'failed'}${advice}`, good: false }
}
