/** `get_messages`: the current branch, newest page first asked, each message with its id in the tree. */
import type { CommandOf } from '@beige/protocol'
import type { Entry } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'
import { type MessagePage, shownEntry } from '../messages.ts'

const DEFAULT_LIMIT = 100

export function getMessages(live: LiveSession, query: CommandOf<'get_messages'>): MessagePage {
  const { entries, leaf } = live.session.state()
  const from = query.since === undefined ? 0 : indexOf(entries, query.since) + 1
  const to = query.before === undefined ? entries.length : indexOf(entries, query.before)
  const start = Math.max(from, to - (query.limit ?? DEFAULT_LIMIT))
  return { messages: entries.slice(start, to).flatMap(shownEntry), leaf_id: leaf, has_more: start > from }
}

function indexOf(entries: readonly Entry[], id: string): number {
  const index = entries.findIndex(entry => entry.id === id)
  if (index < 0) throw fail('unknown_id', { id })
  return index
}
