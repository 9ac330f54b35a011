/** Commands that need no session: whoever asks for them starts none. */
import { type CommandType, commandRules, type FrameOf, isCommandType } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { SessionHost } from '../host.ts'
import { refusal } from './index.ts'
import { namesOf, parse, warningsOf } from './parse.ts'
import { daemonSessions, listPage, trashOf } from './sessions.ts'
import { shownModel } from './settings.ts'

/** True for a command that `answerHostCommand` answers. */
export function isHostCommand(input: unknown): boolean {
  const type = namesOf(input).command
  return isCommandType(type) && commandRules[type].sessionless
}

/** The response frame; its `seq` is 0, as no session numbers it. Never throws. */
export async function answerHostCommand(host: SessionHost, input: unknown): Promise<FrameOf<'response'>> {
  const names = namesOf(input)
  try {
    const type = names.command
    const data = isCommandType(type) ? await carriedOut(host, type, input) : null
    if (data === null) throw fail('unsupported', { command: type, reason: 'it needs a session' })
    const warnings = warningsOf(type, input)
    return {
      ...{ type: 'response', seq: 0, ...names, success: true, data },
      ...(warnings.length > 0 ? { warnings } : {}),
    }
  } catch (error) {
    return { seq: 0, ...refusal(error), ...names }
  }
}

async function carriedOut(
  host: SessionHost,
  type: CommandType,
  input: unknown,
): Promise<Record<string, unknown> | null> {
  switch (type) {
    case 'ping':
      return { now: host.clock.now() }
    case 'list_sessions':
      return listPage(host, parse('list_sessions', input), null)
    case 'list_all_sessions':
      return listPage(host, parse('list_all_sessions', input), null)
    case 'list_daemon_sessions':
      return daemonSessions(host)
    case 'list_trash':
      return trashOf(host)
    case 'get_available_models':
      return { models: host.models().map(model => ({ ...shownModel(model), available: true })) }
    default:
      return null
  }
}
