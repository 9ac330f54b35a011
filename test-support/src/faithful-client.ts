/**
 * What a client that keeps the rules of numbers knows of a session, folded from its frames alone. It throws where a
 * numbered frame is missing, doubled or out of order and nothing announced it.
 */
import { type Frame, frameSchemas, isFrameType, type SessionMessage } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'

export type FaithfulClient = {
  take(frame: Frame): void
  /** The highest number that it saw; null before the first. */
  seq(): number | null
  /** Tree id to what is known of the message; null: committed, its text came as deltas. */
  messages: Map<string, SessionMessage | null>
  /** Text of the message that is being streamed. */
  partial(): string
  /** All text that was committed or is being streamed, in order of arrival. */
  texts: string[]
  /** Numbers of the numbered frames that it took, in order. */
  taken: number[]
  gaps: string[]
}

const seen = new Map<string, (value: unknown) => boolean>()

/** Fails on a frame that the published schema does not know. */
export function checkFrame(value: unknown): asserts value is Frame {
  const type = typeof value === 'object' && value !== null && 'type' in value ? String(value.type) : ''
  if (!isFrameType(type)) throw new Error(`no frame: ${JSON.stringify(value)}`)
  const check = seen.get(type) ?? compile(frameSchemas[type]).check
  seen.set(type, check)
  if (!check(value)) {
    const [first] = compile(frameSchemas[type]).errors(value)
    throw new Error(`${type}${first?.path} ${first?.message}: ${JSON.stringify(value)}`)
  }
}

export function faithfulClient(): FaithfulClient {
  let seq: number | null = null
  let announced = false
  let partial = ''
  const client: FaithfulClient = {
    seq: () => seq,
    messages: new Map(),
    partial: () => partial,
    texts: [],
    taken: [],
    gaps: [],
    take: frame => {
      checkFrame(JSON.parse(JSON.stringify(frame)))
      if (frame.type === 'ready') {
        // A new connection counts from where it says, unless a gap follows.
        if (seq === null || frame.seq === seq) seq = frame.seq
        else announced = true
        if (announced) seq = frame.seq
        return
      }
      if (frame.type === 'gap') {
        client.gaps.push(frame.reason)
        seq = frame.seq
        announced = false
        return
      }
      if (frame.type === 'catchup') {
        seq = frame.seq
        announced = false
        for (const message of frame.data.messages) client.messages.set(message.id, message)
        partial = (frame.run?.partial?.content ?? []).map(textOf).join('')
        return
      }
      if (announced) throw new Error('a gap was due')
      if (frame.seq === seq) return // private
      if (seq !== null && frame.seq !== seq + 1)
        throw new Error(`${frame.seq} came after ${seq}: ${frame.type}`)
      seq = frame.seq
      client.taken.push(frame.seq)
      if (frame.type !== 'event') return
      const { event } = frame
      if (event.kind === 'stream' && event.type === 'message_start') partial = ''
      if (event.kind === 'stream' && event.type === 'text_delta') partial += textOf(event)
      if (event.kind === 'message_discarded') partial = ''
      if (event.kind === 'committed') {
        if (!client.messages.has(event.entry_id)) client.messages.set(event.entry_id, null)
        if (event.role === 'assistant') {
          client.texts.push(partial)
          partial = ''
        }
      }
    },
  }
  return client
}

function textOf(block: unknown): string {
  if (typeof block !== 'object' || block === null || !('text' in block)) return ''
  return typeof block.text === 'string' ? block.text : ''
}
