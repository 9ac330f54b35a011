/** Referee for Bedrock's ConverseStream: says about a request what the vendor's endpoint would say, or null. */
import { isRecord, type JsonRecord, loneSurrogateAt, records, text } from './json.ts'
import { thinkingSignature } from './validate-anthropic.ts'
import { type Refusal, refuse } from './wire.ts'

const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/

export function validateBedrock(body: unknown): Refusal | null {
  const bad = (message: string) => refuse(message, 'ValidationException')
  if (!isRecord(body)) return bad('The request is not valid JSON.')
  const surrogate = loneSurrogateAt(body)
  if (surrogate !== null) return bad(`The request is not valid JSON: lone surrogate in ${surrogate}`)
  const messages = records(body.messages)
  if (messages.length === 0) return bad('A conversation must have at least one message.')
  if (messages[0]?.role !== 'user') return bad('A conversation must start with a user message.')
  let open: string[] = []
  for (const [i, message] of messages.entries()) {
    const role = i % 2 === 0 ? 'user' : 'assistant'
    if (message.role !== role) return bad('A conversation must alternate between user and assistant roles.')
    const blocks = records(message.content)
    if (blocks.length === 0) return bad(`The content field in the Message object at messages.${i} is empty.`)
    const said = blocks.map(blockProblem).find(one => one !== null)
    if (said) return bad(`messages.${i}: ${said}`)
    const results = parts(blocks, 'toolResult').map(result => text(result.toolUseId))
    if (results.length !== open.length || results.some(id => !open.includes(id)))
      return bad(
        `Expected toolResult blocks at messages.${i}.content for the following Ids: ${open.join(', ')}, but found: ${results.join(', ')}`,
      )
    open = parts(blocks, 'toolUse').map(use => text(use.toolUseId))
  }
  return null
}

function parts(blocks: readonly JsonRecord[], name: string): JsonRecord[] {
  return blocks.map(block => block[name]).filter(isRecord)
}

function blockProblem(block: JsonRecord): string | null {
  if (block.text !== undefined && text(block.text).trim() === '')
    return 'The text field in the ContentBlock object is blank.'
  const use = isRecord(block.toolUse) ? block.toolUse : null
  if (use !== null && !CALL_ID.test(text(use.toolUseId)))
    return `toolUseId "${text(use.toolUseId)}" is not valid`
  const reasoning = isRecord(block.reasoningContent) ? block.reasoningContent.reasoningText : undefined
  if (!isRecord(reasoning) || reasoning.signature === undefined) return null
  return reasoning.signature === thinkingSignature(text(reasoning.text))
    ? null
    : 'Invalid `signature` in `thinking` block'
}
