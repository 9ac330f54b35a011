/** Takes a command off the wire: checked, dispatched, answered. A command that throws becomes a failed response. */
import { BeigeError, type Command, command, messageOf } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import type { Viewer } from '../frames.ts'
import type { LiveSession } from '../live-session.ts'
import { abort } from './abort.ts'
import { getMessages } from './get-messages.ts'
import { getState } from './get-state.ts'
import { prompt } from './prompt.ts'

const validator = compile(command)
const KNOWN: readonly Command['type'][] = ['prompt', 'abort', 'get_state', 'get_messages', 'ping']

export async function handleCommand(live: LiveSession, input: unknown, viewer: Viewer): Promise<void> {
  const named = nameOf(input)
  try {
    const checked = parse(input)
    switch (checked.type) {
      case 'prompt':
        return await prompt(live, checked, viewer)
      case 'abort':
        await abort(live)
        return answer(live, viewer, checked, {})
      case 'get_state':
        return answer(live, viewer, checked, getState(live))
      case 'get_messages':
        return answer(live, viewer, checked, getMessages(live, checked))
      case 'ping':
        return answer(live, viewer, checked, { now: live.clock.now() })
      default:
        return checked satisfies never
    }
  } catch (error) {
    live.frames.private(viewer, { ...refusal(error), ...named })
  }
}

function parse(input: unknown): Command {
  const type = nameOf(input).command
  if (!KNOWN.some(known => known === type)) throw fail('unknown_command', { type, known: KNOWN.join(', ') })
  if (validator.check(input)) return input
  const [first] = validator.errors(input)
  throw fail('bad_request', { reason: first ? `${first.path || '/'} ${first.message}` : 'not a command' })
}

function answer(live: LiveSession, viewer: Viewer, to: Command, data: Record<string, unknown>): void {
  const id = to.id === undefined ? {} : { id: to.id }
  live.frames.private(viewer, { type: 'response', ...id, command: to.type, success: true, data })
}

/** The failed response to a command, without the names that its sender knows it by. */
export function refusal(error: unknown) {
  if (!(error instanceof BeigeError)) {
    return { type: 'response', success: false, code: 'internal', error: messageOf(error) } as const
  }
  return {
    type: 'response',
    success: false,
    code: error.code,
    error: error.message,
    advice: error.advice,
    data: { ...error.data },
  } as const
}

function nameOf(input: unknown): { id?: string; command: string } {
  if (typeof input !== 'object' || input === null) return { command: '' }
  const command = 'type' in input && typeof input.type === 'string' ? input.type.slice(0, 128) : ''
  return { command, ...('id' in input && typeof input.id === 'string' ? { id: input.id.slice(0, 128) } : {}) }
}
