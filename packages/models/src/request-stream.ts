/**
 * The stream that a request's reader gets. Notices are told in their place among the events, and the reader waits for
 * whoever is told, so that nobody sees the text of a second attempt before the first is withdrawn.
 */
import type {
  AssistantMessage,
  AssistantMessageEvent,
  AssistantMessageEventStream,
} from '@earendil-works/pi-ai'
import { createAssistantMessageEventStream } from '@earendil-works/pi-ai/utils/event-stream'
import type { RouterNotice } from './router.ts'

export type RequestStream = {
  stream: AssistantMessageEventStream
  push(event: AssistantMessageEvent): void
  tell(notice: RouterNotice): void
  end(message: AssistantMessage): void
}

export function createRequestStream(
  model: AssistantMessage,
  onNotice: ((notice: RouterNotice) => void | Promise<void>) | undefined,
): RequestStream {
  const stream = createAssistantMessageEventStream()
  // The library's queue takes its own events alone, so a notice is queued as an event that is never given out.
  const notices = new WeakMap<AssistantMessageEvent, RouterNotice>()
  const queued = stream[Symbol.asyncIterator].bind(stream)
  stream[Symbol.asyncIterator] = async function* () {
    for await (const event of { [Symbol.asyncIterator]: queued }) {
      const notice = notices.get(event)
      if (notice === undefined) yield event
      else await onNotice?.(notice)
    }
  }
  return {
    stream,
    push: event => stream.push(event),
    tell(notice) {
      if (onNotice === undefined) return
      const mark: AssistantMessageEvent = { type: 'start', partial: model }
      notices.set(mark, notice)
      stream.push(mark)
    },
    end(message) {
      if (message.stopReason === 'error' || message.stopReason === 'aborted')
        stream.push({ type: 'error', reason: message.stopReason, error: message })
      else if (message.stopReason !== 'pending')
        stream.push({ type: 'done', reason: message.stopReason, message })
      stream.end(message)
    },
  }
}
