/** The current branch as clients see it: messages with their ids in the tree, whole or a part of them. */
import type { SessionMessage } from '@beige/protocol'
import { CATCHUP_TAIL_BYTES } from '@beige/protocol'
import type { Entry, SessionState } from '@beige/sessions'

export type MessagePage = { messages: SessionMessage[]; leaf_id: string | null; has_more: boolean }

/** An entry with the results of its calls. */
export function shownEntry(entry: Entry): SessionMessage[] {
  if (entry.kind === 'prompt') {
    return [{ id: entry.id, role: 'user', content: entry.body.message, origin: entry.body.origin }]
  }
  const { role, content, model, stop_reason } = entry.body
  return [
    { id: entry.id, role, content, ...(model ? { model } : {}), ...(stop_reason ? { stop_reason } : {}) },
    ...entry.calls.map(call => ({
      id: call.id,
      role: 'tool' as const,
      name: call.name,
      state: call.finished
        ? ('finished' as const)
        : call.started
          ? ('running' as const)
          : ('waiting' as const),
      content: call.finished?.content ?? [],
      is_error: call.finished?.is_error ?? false,
      outcome: call.finished?.outcome ?? null,
      details: call.finished?.details ?? {},
    })),
  ]
}

/** The newest messages after `since` (null: from the beginning), `maxBytes` of JSON at most, one at least. */
export function newestMessages(
  { entries, leaf }: Pick<SessionState, 'entries' | 'leaf'>,
  since: string | null,
  maxBytes: number = CATCHUP_TAIL_BYTES,
): MessagePage {
  const from = since === null ? 0 : entries.findIndex(entry => entry.id === since) + 1
  const pages: SessionMessage[][] = []
  let bytes = 0
  let index = entries.length
  while (index > from) {
    const entry = entries[index - 1]
    if (!entry) break
    const shown = shownEntry(entry)
    bytes += Buffer.byteLength(JSON.stringify(shown))
    if (bytes > maxBytes && pages.length > 0) break
    pages.push(shown)
    index--
  }
  return { messages: pages.reverse().flat(), leaf_id: leaf, has_more: index > from }
}
