/** Takes a command off the wire: checked, dispatched, answered. A command that throws becomes a failed response. */
import { BeigeError, type CommandType, commandRules, isCommandType, messageOf } from '@beige/protocol'
import { fail, serveCode } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'
import type { Viewer } from '../viewers/viewer.ts'
import type { CommandContext, HandlerTable, MovableConnection } from './handler.ts'
import { namesOf, parse, unknownCommand, warningsOf } from './parse.ts'
import { handlers } from './table.ts'

export async function handleCommand(
  live: LiveSession,
  input: unknown,
  viewer: Viewer,
  connection: MovableConnection | null,
): Promise<void> {
  const names = namesOf(input)
  const context: CommandContext = {
    ...{ live, viewer, connection, names },
    warnings: warningsOf(names.command, input),
    answer: frame => live.frames.private(viewer, frame),
  }
  try {
    const type = names.command
    if (!isCommandType(type)) throw unknownCommand(type)
    const data = await carryOut(type, input, context)
    if (data === null) return
    const warnings = context.warnings.length > 0 ? { warnings: [...context.warnings] } : {}
    context.answer({ type: 'response', ...names, success: true, data, ...warnings })
  } catch (error) {
    context.answer({ ...refusal(error), ...names })
  }
}

async function carryOut<T extends CommandType>(type: T, input: unknown, context: CommandContext) {
  const command = parse(type, input)
  const { live, viewer } = context
  const rule = commandRules[type]
  if (viewer.role === 'view' && rule.changes)
    throw fail('forbidden', { command: type, reason: 'this connection may only look' })
  const handler: HandlerTable[T] = handlers[type]
  if (!handler) throw fail('unsupported', { command: type, reason: 'nothing here provides it yet' })
  // A prompt decides by itself: a repeated key and a queue are no conflict with the run in flight.
  if (rule.during === 'B' && type !== 'prompt' && live.run) throw fail('busy', { run_id: live.run.id })
  return handler(command, context)
}

/** The failed response to a command, without the names that its sender knows it by. */
export function refusal(error: unknown) {
  if (!(error instanceof BeigeError)) {
    return { type: 'response', success: false, code: 'internal', error: messageOf(error) } as const
  }
  const code = serveCode(error.code)
  return {
    type: 'response',
    success: false,
    code,
    error: error.message,
    advice: error.advice,
    data: { ...error.data, ...(code === error.code ? {} : { code: error.code }) },
  } as const
}
