/** Every command that this host knows how to carry out; the rest of the protocol answers `unsupported` by name. */
import { COMMAND_TYPES, type CommandType } from '@beige/protocol'
import { abort } from './abort.ts'
import { attach } from './attach.ts'
import { getMessages } from './get-messages.ts'
import { getState } from './get-state.ts'
import type { HandlerTable } from './handler.ts'
import { prompt } from './prompt.ts'

export const handlers: HandlerTable = {
  attach,
  ping: (_command, { live }) => ({ now: live.clock.now() }),
  prompt,
  abort: async (_command, { live }) => {
    await abort(live)
    return {}
  },
  get_state: (_command, { live }) => getState(live),
  get_messages: (command, { live }) => getMessages(live, command),
}

/** What has no capability behind it yet. */
export const UNSUPPORTED: readonly CommandType[] = COMMAND_TYPES.filter(type => handlers[type] === undefined)
