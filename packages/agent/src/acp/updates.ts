/** Frames of a session as updates of the Agent Client Protocol. One for each session: it knows the calls under way. */
import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk'
import type { AgentEvent, SessionMessage } from '@beige/protocol'
import type { Workspace } from './prompt-blocks.ts'
import { diffOf, type StartedCall, startedCall, textContent } from './tool-calls.ts'

export type Updates = {
  /** What a run's event shows; nothing for most. */
  ofEvent(event: AgentEvent): SessionUpdate[]
  /** The past of a session, as if it happened now. */
  ofHistory(messages: readonly SessionMessage[]): SessionUpdate[]
  call(id: string): StartedCall | undefined
}

type Call = StartedCall & { bytes: number }

export type UpdatesOptions = {
  workspace: Workspace
  /** The editor shows output as a terminal that it does not run (`terminal_output` in its `_meta` capabilities). */
  terminals: boolean
}

export function createUpdates({ workspace, terminals }: UpdatesOptions): Updates {
  const calls = new Map<string, Call>()
  const isTerminal = (call: StartedCall): boolean => terminals && call.name === 'bash'

  const started = (call: StartedCall): SessionUpdate[] => {
    calls.set(call.id, { ...call, bytes: 0 })
    const shown = startedCall(call, workspace)
    const terminal = isTerminal(call)
      ? {
          content: [{ type: 'terminal', terminalId: call.id } satisfies ToolCallContent],
          _meta: { terminal_info: { terminal_id: call.id } },
        }
      : {}
    return [{ sessionUpdate: 'tool_call', ...shown, ...terminal }]
  }

  const progressed = (id: string, snapshot: string, bytes: number): SessionUpdate[] => {
    const call = calls.get(id)
    if (!call) return []
    const isNew = bytes - call.bytes
    call.bytes = bytes
    if (!isTerminal(call)) {
      return [{ sessionUpdate: 'tool_call_update', toolCallId: id, content: [textContent(snapshot)] }]
    }
    const data = Buffer.from(snapshot).subarray(-isNew).toString('utf8')
    const output = { terminal_output: { terminal_id: id, data } }
    return isNew > 0 ? [{ sessionUpdate: 'tool_call_update', toolCallId: id, _meta: output }] : []
  }

  const ended = (end: Ended): SessionUpdate[] => {
    const call = calls.get(end.id)
    calls.delete(end.id)
    const status = end.is_error || end.outcome !== 'done' ? 'failed' : 'completed'
    const update = { sessionUpdate: 'tool_call_update', toolCallId: end.id, status } as const
    const content = end.result.flatMap((block): ToolCallContent[] =>
      block.type === 'text'
        ? [textContent(block.text)]
        : [{ type: 'content', content: { type: 'image', mimeType: block.media_type, data: block.data } }],
    )
    if (call && isTerminal(call)) {
      const { exit_code = null, signal = null } = end.details ?? {}
      // A command that ended before it told anything has its whole output in the result.
      const output = call.bytes === 0 ? { terminal_output: { terminal_id: end.id, data: textOf(end) } } : {}
      return [{ ...update, _meta: { ...output, terminal_exit: { terminal_id: end.id, exit_code, signal } } }]
    }
    const diff = call && status === 'completed' ? diffOf(call.name, call.input, workspace) : []
    return [{ ...update, content: diff.length > 0 ? diff : content, rawOutput: end.details }]
  }

  return {
    call: id => calls.get(id),
    ofEvent: event => {
      switch (event.kind) {
        case 'stream':
          return streamed(event)
        case 'tool_start':
          return started(event)
        case 'tool_progress':
          return progressed(event.id, event.snapshot, event.bytes)
        case 'tool_end':
          return ended(event)
        default:
          return []
      }
    },
    ofHistory: messages =>
      messages.flatMap(message => {
        if (message.role === 'tool') {
          const result = message.content.flatMap(block =>
            block.type === 'text' || block.type === 'image' ? [block] : [],
          )
          const outcome = message.outcome ?? 'done'
          return ended({
            id: message.id,
            result,
            is_error: message.is_error === true,
            outcome,
            details: message.details,
          })
        }
        return message.content.flatMap((block): SessionUpdate[] => {
          switch (block.type) {
            case 'text':
              return [
                chunk(message.role === 'user' ? 'user_message_chunk' : 'agent_message_chunk', block.text),
              ]
            case 'image': {
              const image = { type: 'image', mimeType: block.media_type, data: block.data } as const
              return [{ sessionUpdate: 'user_message_chunk', content: image }]
            }
            case 'thinking':
              return block.text === '' ? [] : [chunk('agent_thought_chunk', block.text)]
            case 'tool_call':
              return started(block)
            default:
              return block satisfies never
          }
        })
      }),
  }
}

type Ended = Pick<Extract<AgentEvent, { kind: 'tool_end' }>, 'id' | 'result' | 'is_error' | 'outcome'> & {
  details?: Readonly<Record<string, unknown>> | undefined
}

function streamed(event: AgentEvent): SessionUpdate[] {
  const text: unknown = Reflect.get(event, 'text')
  const type: unknown = Reflect.get(event, 'type')
  if (typeof text !== 'string' || text === '') return []
  if (type === 'text_delta') return [chunk('agent_message_chunk', text)]
  if (type === 'thinking_delta') return [chunk('agent_thought_chunk', text)]
  return []
}

function chunk(
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk',
  text: string,
): SessionUpdate {
  return { sessionUpdate, content: { type: 'text', text } }
}

function textOf({ result }: Ended): string {
  return result.map(block => (block.type === 'text' ? block.text : '')).join('')
}
