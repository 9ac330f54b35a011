/** `agent run TASK…`: the tasks in order as turns of one session, then out. */
import { resolve } from 'node:path'
import type { OutputForm } from '@beige/harness'
import { type LiveSession, type RunInFlight, runSummary, type Viewer } from '@beige/host'
import { explain, type Frame, promptResult } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { type AgentSession, openAgentSession } from '../agent-session.ts'
import { fail } from '../errors.ts'
import { exported, writeExport } from '../export/export.ts'
import { type AgentOptions, agentOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { type StopSignals, stopSignals } from '../stop-signals.ts'
import { type RawRunOptions, withNamedSession } from './named-session.ts'
import { type Answer, type RunOutput, runOutput } from './output.ts'
import { outputFormFrom } from './output-form.ts'
import { type Task, taskInput } from './task-input.ts'

const EXIT_FAILED = 1

type Response = Extract<Frame, { type: 'response' }>

/** Answers the exit code. Throws what is wrong before any model call; the edge renders that with exit code 2. */
export async function runCommand(
  tasks: readonly string[],
  raw: RawRunOptions,
  world: ProcessWorld,
): Promise<number> {
  const form = outputFormFrom(raw, world)
  agentOptions(raw, world) // what is wrong with them is said before anything is opened or copied
  const options = agentOptions(await withNamedSession(raw, world), world)
  const stop = stopSignals(world)
  try {
    const isResumed = options.resume && tasks.length === 0
    const told = isResumed ? [] : await taskInput(tasks, world, stop.signal)
    const stopped = stop.stopped()
    if (stopped) return stopped.exitCode
    if (!isResumed && told.every(task => task.message.trim() === ''))
      throw fail('usage', { reason: 'no task was given', command: 'run' })
    return await stoppable(told, form, options, raw, world, stop)
  } finally {
    stop.dispose()
  }
}

async function stoppable(
  tasks: readonly Task[],
  form: OutputForm | null,
  options: AgentOptions,
  { json = false, export: page }: RawRunOptions,
  world: ProcessWorld,
  stop: StopSignals,
): Promise<number> {
  const output = runOutput(world, json)
  const responses: Response[] = []
  const viewer: Viewer = {
    origin: { kind: 'local' },
    send: frame => {
      if (frame.type === 'ready') output.begin({ id: frame.session_id, model: frame.model, cwd: world.cwd })
      if (frame.type === 'response' && frame.command === 'prompt') responses.push(frame)
      output.frame(frame)
    },
  }
  const key = (index: number) =>
    options.idempotencyKey === null ? null : `${options.idempotencyKey}:${index}`
  let byKey = false // the run that was cut off is the one that a task's key names
  const agent = await openAgentSession({
    options,
    world,
    viewer,
    openRun: ({ openRun, keys }) => {
      byKey = tasks.some((_task, index) => openRun && keys.get(key(index) ?? '') === openRun.id)
      return options.resume || byKey ? 'resume' : 'close'
    },
  })
  const { live } = agent
  const onStop = () => live.stop(stop.signal.reason)
  stop.signal.addEventListener('abort', onStop)
  if (stop.signal.aborted) onStop()

  const answer = async ({ message, images }: Task, index: number) => {
    const idempotencyKey = key(index)
    await live.handle(
      {
        type: 'prompt',
        message,
        ...(images.length === 0 ? {} : { images }),
        ...(idempotencyKey === null ? {} : { idempotency_key: idempotencyKey }),
        // Of several tasks the last one gives the answer.
        ...(form && index === tasks.length - 1 ? owed(form) : {}),
      },
      viewer,
    )
    return answerOf(responses.pop(), json)
  }
  let good = false
  let ended = false
  try {
    tellDamage(live, world)
    const cut = byKey ? null : live.run
    if (!cut && tasks.length === 0) throw fail('nothing_to_resume', { id: live.id })
    good = cut ? shown(await goneOn(live, cut), output) : true
    for (const [index, task] of tasks.entries()) {
      if (!good || stop.signal.aborted) break
      good = shown(await answer(task, index), output)
    }
  } finally {
    ended = await endedCleanly(agent, world)
    if (page !== undefined) ended = (await exportedTo(page, live, world)) && ended
  }
  const stopped = stop.stopped()
  if (stopped?.by === 'signal' && ended) {
    world.stderr.write(`Stopped; nothing is left running.\nTo go on: agent run --session-id ${live.id} "…"\n`)
  }
  return stopped?.exitCode ?? (good && ended ? 0 : EXIT_FAILED)
}

function shown(answer: Answer, output: RunOutput): boolean {
  output.end(answer)
  return answer.good
}

/** The end of the run that was cut off; there was no prompt here to respond to. */
async function goneOn(live: LiveSession, cut: RunInFlight): Promise<Answer> {
  const { error } = await cut.ended
  const summary = runSummary(live.session.state(), cut.id)
  const aborted = error?.code === 'aborted'
  const problem = error && !aborted ? explain(error) : null
  return { result: summary, problem, aborted, good: error === null && !summary?.refused }
}

const isPromptResult = compile(promptResult).check

function answerOf(response: Response | undefined, json: boolean): Answer {
  if (!response) return { result: null, problem: 'the session gave no answer', aborted: false, good: false }
  const result = isPromptResult(response.data) ? response.data : null
  // A program that reads events finds the refusal there.
  if (response.success) return { result, problem: null, aborted: false, good: json || !result?.refused }
  if (response.code === 'aborted') return { result, problem: null, aborted: true, good: false } // by us
  const problem = response.error ?? 'failed'
  const advice = response.advice ? `${problem.replace(/[.\s]+$/, '')}. ${response.advice}` : problem
  return { result, problem: advice, aborted: false, good: false }
}

function owed({ schema, description }: OutputForm) {
  return { output_schema: schema, ...(description === undefined ? {} : { output_description: description }) }
}

function tellDamage(live: LiveSession, world: ProcessWorld): void {
  for (const { segment, offset, reason } of live.session.log.damage)
    world.stderr.write(`warning: ${segment} is damaged at byte ${offset}: ${reason}\n`)
}

/** Also of a run that failed; says what went wrong. */
async function exportedTo(page: string, live: LiveSession, world: ProcessWorld): Promise<boolean> {
  try {
    const text = exported('html', live.id, live.session.log.records, world.clock.now())
    await writeExport(resolve(world.cwd, page), text, 'w')
    return true
  } catch (error) {
    world.stderr.write(`${explain(error)}\n`)
    return false
  }
}

/** Says what could not be ended. */
async function endedCleanly(agent: AgentSession, world: ProcessWorld): Promise<boolean> {
  try {
    await agent.close(new DOMException('the command has ended', 'AbortError'))
    return true
  } catch (error) {
    world.stderr.write(`${explain(error)}\n`)
    return false
  }
}
