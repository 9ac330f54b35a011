/** `get_messages`: the current branch, newest page first asked, each message with its id in the tree. */
import type { Command } from '@beige/protocol'
import type { Entry } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'

const DEFAULT_LIMIT = 100

export function getMessages(
  live: LiveSession,
  query: Extract<Command, { type: 'get_messages' }>,
): Record<string, unknown> {
  const { entries, leaf } = live.session.state()
  const from = query.since === undefined ? 0 : indexOf(entries, query.since) + 1
  const to = query.before === undefined ? entries.length : indexOf(entries, query.before)
  const start = Math.max(from, to - (query.limit ?? DEFAULT_LIMIT))
  return { messages: entries.slice(start, to).flatMap(shown), leaf_id: leaf, has_more: start > from }
}

function indexOf(entries: readonly Entry[], id: string): number {
  const index = entries.findIndex(entry => entry.id === id)
  if (index < 0) throw fail('unknown_id', { id })
  return index
}

function shown(entry: Entry): Record<string, unknown>[] {
  if (entry.kind === 'prompt') {
    return [{ id: entry.id, role: 'user', content: entry.body.message, origin: entry.body.origin }]
  }
  const { role, content, model, stop_reason } = entry.body
  return [
    { id: entry.id, role, content, model, stop_reason },
    ...entry.calls.map(call => ({
      id: call.id,
      role: 'tool',
      name: call.name,
      state: call.finished ? 'finished' : call.started ? 'running' : 'waiting',
      content: call.finished?.content ?? [],
      is_error: call.finished?.is_error ?? false,
      outcome: call.finished?.outcome ?? null,
    })),
  ]
}
