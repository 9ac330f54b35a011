/** The turn so far, folded from the events that viewers are told: what a client that comes now must know of it. */
import type { AgentEvent, TurnSoFar } from '@beige/protocol'

type Tool = TurnSoFar['tools'][number]
type Partial = {
  index: number
  type: 'text' | 'thinking' | 'tool_call'
  text: string
  id?: string
  name?: string
  input?: unknown
}

export interface TurnView {
  apply(event: AgentEvent): void
  /** A call waits for a person, or no longer. */
  asking(callId: string, isAsking: boolean): void
  snapshot(): Pick<TurnSoFar, 'step' | 'attempt' | 'partial' | 'tools'>
}

export function createTurnView(): TurnView {
  const blocks = new Map<number, Partial>()
  const tools = new Map<string, Tool>()
  let isStreaming = false
  let step = 0
  let attempt = 1

  function block(index: number, type: Partial['type']): Partial {
    const known = blocks.get(index)
    if (known) return known
    const made: Partial = { index, type, text: '' }
    blocks.set(index, made)
    return made
  }

  function stream(event: AgentEvent & { kind: 'stream' }): void {
    const index = indexOf(event)
    switch (event.type) {
      case 'message_start':
        isStreaming = true
        blocks.clear()
        return
      case 'text_delta':
        block(index, 'text').text += textOf(event)
        return
      case 'text_final':
        block(index, 'text').text = textOf(event)
        return
      case 'thinking_delta':
        block(index, 'thinking').text += textOf(event)
        return
      case 'tool_use_start':
        Object.assign(block(index, 'tool_call'), callOf(event))
        return
      case 'input_json_delta':
        block(index, 'tool_call').text += jsonOf(event)
        return
      case 'input_json_final':
        block(index, 'tool_call').input = inputOf(event)
        return
    }
  }

  function cleared(): void {
    isStreaming = false
    blocks.clear()
  }

  return {
    apply: event => {
      switch (event.kind) {
        case 'turn_start':
          step = event.step
          attempt = 1
          tools.clear()
          return cleared()
        case 'stream':
          return stream(event)
        case 'message_discarded':
          attempt = event.attempt + 1
          return cleared()
        case 'committed':
          if (event.role === 'assistant') cleared()
          return
        case 'tool_start':
          tools.set(event.id, {
            ...{ id: event.id, name: event.name, input: event.input },
            ...{ state: 'running', snapshot: '', bytes: 0 },
          })
          return
        case 'tool_progress': {
          const tool = tools.get(event.id)
          if (tool) tools.set(event.id, { ...tool, snapshot: event.snapshot, bytes: event.bytes })
          return
        }
        case 'tool_end':
          tools.delete(event.id)
          return
        case 'agent_end':
          tools.clear()
          return cleared()
        default:
          return
      }
    },
    asking: (callId, isAsking) => {
      const tool = tools.get(callId)
      if (tool) tools.set(callId, { ...tool, state: isAsking ? 'asking' : 'running' })
    },
    snapshot: () => ({
      step,
      attempt,
      partial: isStreaming
        ? {
            role: 'assistant',
            content: [...blocks.values()].sort((a, b) => a.index - b.index).map(shown),
          }
        : null,
      tools: [...tools.values()],
    }),
  }
}

/** `partial_json` stands for the input of a call until it is whole. */
function shown({ index, type, text, id, name, input }: Partial): unknown {
  if (type !== 'tool_call') return { index, type, text }
  return { index, type, id, name, ...(input === undefined ? { partial_json: text } : { input }) }
}

/** A stream event's own fields stand beside `kind`, unknown to its type. */
const indexOf = (event: object) => ('index' in event && typeof event.index === 'number' ? event.index : 0)
const textOf = (event: object) => ('text' in event && typeof event.text === 'string' ? event.text : '')
const jsonOf = (event: object) =>
  'partial_json' in event && typeof event.partial_json === 'string' ? event.partial_json : ''
const inputOf = (event: object) => ('input' in event ? event.input : undefined)
const callOf = (event: object) => ({
  id: 'id' in event && typeof event.id === 'string' ? event.id : '',
  name: 'name' in event && typeof event.name === 'string' ? event.name : '',
})
