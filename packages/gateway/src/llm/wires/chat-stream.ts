/** `POST /api/chat/stream`: pi's events as NDJSON; the one wire that can take text back when another model goes on. */
import { bad, isRecord, type Json, record } from '../json-reader.ts'
import type { Wire } from '../wire.ts'
import { piDone, piError, piEvent } from './pi.ts'
import { readContext, readOptions } from './pi-read.ts'

const FIELDS = ['provider', 'modelId', 'context', 'options', 'agentName', 'sessionKey']
const OPTIONS = ['temperature', 'maxTokens', 'reasoning', 'toolChoice', 'stop']

export const chatStream: Wire = {
  name: 'chat-stream',
  contentType: 'application/x-ndjson; charset=utf-8',
  heartbeat: line({ type: 'heartbeat' }),
  canWithdraw: true,
  read(body) {
    for (const name of Object.keys(body)) if (!FIELDS.includes(name)) throw bad(name, 'unknown field')
    return {
      isStreamed: true,
      ...readContext(record(body.context, 'context'), 'context'),
      ...readOptions(isRecord(body.options) ? body.options : {}, 'options', OPTIONS),
      conversation: typeof body.sessionKey === 'string' ? body.sessionKey : null,
    }
  },
  errorBody: piError,
  writer(_request, about) {
    let hasBegun = false
    const begin = () => {
      if (hasBegun) return ''
      hasBegun = true
      return line({ type: 'start' })
    }
    return {
      event(event) {
        const said = piEvent(event)
        return said === null ? '' : begin() + line(said)
      },
      end: (message, end) =>
        begin() +
        line(
          end === 'refused'
            ? { type: 'blocked', reason: message.errorMessage ?? 'refused', usage: message.usage }
            : piDone(message, about.id),
        ),
      broken: error =>
        line({
          type: 'error',
          class: error.code,
          retryable: error.retryable,
          message: error.message,
          ...(error.retryAtMs === null ? {} : { retryAt: new Date(error.retryAtMs).toISOString() }),
        }),
      whole: (message, _end) => piDone(message, about.id),
      notice(notice) {
        hasBegun = hasBegun && notice.discard !== true // the next text begins anew
        return line(notice)
      },
    }
  },
}

function line(value: Json): string {
  return `${JSON.stringify(value)}\n`
}
