/** Referee for Anthropic Messages: says about a request what the vendor's endpoint would say, or null. */
import { isRecord, type JsonRecord, list, loneSurrogateAt, records, text } from './json.ts'
import { type Refusal, refuse } from './wire.ts'

const MAX_CACHE_BREAKPOINTS = 4
const TOOL_ID = /^[a-zA-Z0-9_-]+$/
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/
const ROLES = ['user', 'assistant', 'system'] // `system` between messages needs a model that takes it

/** The server signs thinking like this and takes back nothing else. */
export function thinkingSignature(thinking: string): string {
  return `sig_${Buffer.from(thinking).toString('base64url').slice(0, 24)}_${thinking.length}`
}

export function validateAnthropic(body: unknown, headers: Readonly<Record<string, string>>): Refusal | null {
  if (headers['anthropic-version'] === undefined) return refuse('anthropic-version: header is required')
  if (!isRecord(body)) return refuse('The request body is not valid JSON: expected an object')
  const surrogate = loneSurrogateAt(body)
  if (surrogate !== null)
    return refuse(`The request body is not valid JSON: no low surrogate in string: ${surrogate}`)
  if (text(body.model) === '') return refuse('model: Field required')
  if (typeof body.max_tokens !== 'number') return refuse('max_tokens: Field required')
  if (!Number.isInteger(body.max_tokens) || body.max_tokens < 1)
    return refuse('max_tokens: must be greater than or equal to 1')
  if (!Array.isArray(body.messages)) return refuse('messages: Field required')
  if (body.messages.length === 0) return refuse('messages: at least one message is required')
  return (
    checkSystem(body.system) ??
    checkThinking(body) ??
    checkTools(body) ??
    checkMessages(list(body.messages)) ??
    checkBreakpoints(body)
  )
}

function checkSystem(system: unknown): Refusal | null {
  for (const [i, block] of records(system).entries())
    if (text(block.text) === '') return refuse(`system.${i}.text: text content blocks must be non-empty`)
  return null
}

function checkThinking(body: JsonRecord): Refusal | null {
  const thinking = body.thinking
  if (!isRecord(thinking) || thinking.type !== 'enabled') return null
  const budget = thinking.budget_tokens
  if (typeof budget !== 'number' || budget < 1024)
    return refuse('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
  if (typeof body.max_tokens === 'number' && budget >= body.max_tokens)
    return refuse('`max_tokens` must be greater than `thinking.budget_tokens`')
  if (body.temperature !== undefined && body.temperature !== 1)
    return refuse('`temperature` may only be set to 1 when thinking is enabled')
  return null
}

function checkTools(body: JsonRecord): Refusal | null {
  const names = new Set<string>()
  for (const [i, tool] of records(body.tools).entries()) {
    const name = text(tool.name)
    if (!TOOL_NAME.test(name))
      return refuse(`tools.${i}.custom.name: String should match pattern '${TOOL_NAME.source}'`)
    if (names.has(name)) return refuse('tools: Tool names must be unique.')
    names.add(name)
    if (!isRecord(tool.input_schema) || tool.input_schema.type !== 'object')
      return refuse(`tools.${i}.custom.input_schema.type: Field required`)
    for (const key of ['oneOf', 'allOf', 'anyOf'])
      if (key in tool.input_schema)
        return refuse(
          `tools.${i}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
        )
  }
  if (body.tool_choice !== undefined && names.size === 0)
    return refuse('tool_choice: may only be specified while providing tools.')
  return null
}

type Open = { at: number; ids: Set<string>; answered: Set<string> }

function checkMessages(messages: readonly unknown[]): Refusal | null {
  const seenIds = new Set<string>()
  let open: Open | null = null
  let previousRole = ''
  for (const [i, message] of messages.entries()) {
    if (!isRecord(message)) return refuse(`messages.${i}: Input should be an object`)
    const role = text(message.role)
    if (!ROLES.includes(role)) return refuse(`messages.${i}.role: Input should be 'user' or 'assistant'`)
    if (previousRole === '' && role !== 'user')
      return refuse('messages: first message must use the "user" role')
    // The endpoint joins neighbours of one role; only the first user message after a call may hold its results.
    if (open !== null && (role !== 'user' || previousRole === 'user')) {
      const missing = unanswered(open)
      if (missing !== null) return missing
      if (role !== 'user') open = null
    }
    const bad = checkContent(message, i)
    if (bad !== null) return bad
    const blocks = records(message.content)
    if (role === 'user') {
      const wrong = checkResults(blocks, i, open)
      if (wrong !== null) return wrong
    }
    if (role === 'assistant') {
      const ids = blocks.filter(b => b.type === 'tool_use').map(b => text(b.id))
      for (const id of ids) {
        if (seenIds.has(id)) return refuse(`messages.${i}: \`tool_use\` ids must be unique`)
        seenIds.add(id)
      }
      open = ids.length > 0 ? { at: i, ids: new Set(ids), answered: new Set() } : null
    }
    previousRole = role
  }
  if (open !== null) {
    const missing = unanswered(open)
    if (missing !== null) return missing
  }
  if (previousRole === 'assistant')
    return refuse(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  return null
}

function unanswered(open: Open): Refusal | null {
  const missing = [...open.ids].filter(id => !open.answered.has(id))
  if (missing.length === 0) return null
  return refuse(
    `messages.${open.at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  )
}

function checkResults(blocks: readonly JsonRecord[], i: number, open: Open | null): Refusal | null {
  let other = false
  for (const [j, block] of blocks.entries()) {
    if (block.type !== 'tool_result') {
      other = true
      continue
    }
    const id = text(block.tool_use_id)
    if (open === null || !open.ids.has(id))
      return refuse(
        `messages.${i}.content.${j}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    if (open.answered.has(id))
      return refuse(
        `messages.${i}.content.${j}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      )
    if (other)
      return refuse(`messages.${i}: \`tool_result\` blocks must come before other content of the message`)
    open.answered.add(id)
    if (block.is_error === true && records(block.content).some(part => part.type !== 'text'))
      return refuse(`messages.${i}.content.${j}: all content must be type \`text\` if \`is_error\` is true`)
  }
  return null
}

function checkContent(message: JsonRecord, i: number): Refusal | null {
  const content = message.content
  if (message.role === 'system') return null
  if (typeof content === 'string')
    return content.trim() === ''
      ? refuse(`messages.${i}: text content blocks must contain non-whitespace text`)
      : null
  if (!Array.isArray(content)) return refuse(`messages.${i}.content: Field required`)
  if (content.length === 0)
    return refuse(
      `messages.${i}: all messages must have non-empty content except for the optional final assistant message`,
    )
  for (const [j, block] of content.entries()) {
    const at = `messages.${i}.content.${j}`
    if (!isRecord(block)) return refuse(`${at}: Input should be an object`)
    const bad = checkBlock(block, text(message.role), at)
    if (bad !== null) return bad
  }
  return null
}

function checkBlock(block: JsonRecord, role: string, at: string): Refusal | null {
  switch (block.type) {
    case 'text':
      if (text(block.text) === '') return refuse(`${at}.text: text content blocks must be non-empty`)
      return text(block.text).trim() === ''
        ? refuse(`${at}.text: text content blocks must contain non-whitespace text`)
        : null
    case 'image':
      return role === 'user' && isRecord(block.source) && text(block.source.data) !== ''
        ? null
        : refuse(`${at}: image blocks need a source and the user role`)
    case 'tool_use':
      if (role !== 'assistant')
        return refuse(`${at}: \`tool_use\` blocks can only be in \`assistant\` messages`)
      if (!TOOL_ID.test(text(block.id)))
        return refuse(`${at}.tool_use.id: String should match pattern '${TOOL_ID.source}'`)
      if (!TOOL_NAME.test(text(block.name)))
        return refuse(`${at}.tool_use.name: String should match pattern '${TOOL_NAME.source}'`)
      return isRecord(block.input) ? null : refuse(`${at}.tool_use.input: Input should be a valid dictionary`)
    case 'tool_result':
      return role === 'user' ? null : refuse(`${at}: \`tool_result\` blocks can only be in \`user\` messages`)
    case 'thinking':
      if (role !== 'assistant') return refuse(`${at}: thinking blocks can only be in \`assistant\` messages`)
      return text(block.signature) === thinkingSignature(text(block.thinking))
        ? null
        : refuse(`${at}: Invalid \`signature\` in \`thinking\` block`)
    case 'redacted_thinking':
      return text(block.data) !== '' ? null : refuse(`${at}.redacted_thinking.data: Field required`)
    default:
      return refuse(`${at}: Input tag '${text(block.type)}' does not match any of the expected tags`)
  }
}

function checkBreakpoints(body: JsonRecord): Refusal | null {
  const blocks = [
    ...records(body.system),
    ...records(body.tools),
    ...records(body.messages).flatMap(message => records(message.content)),
  ]
  const count = blocks.filter(block => isRecord(block.cache_control)).length
  return count > MAX_CACHE_BREAKPOINTS
    ? refuse(
        `A maximum of ${MAX_CACHE_BREAKPOINTS} blocks with cache_control may be provided. Found ${count}.`,
      )
    : null
}
