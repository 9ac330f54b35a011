/** Referee for OpenAI Responses: says about a request what the vendor's endpoint would say, or null. */
import { isRecord, type JsonRecord, list, loneSurrogateAt, text } from './json.ts'
import { isJsonObject } from './validate-openai-chat.ts'
import { type Refusal, refuse } from './wire.ts'

const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const MAX_ID_CHARS = 64
const MIN_OUTPUT_TOKENS = 16

export function validateOpenAiResponses(body: unknown): Refusal | null {
  if (!isRecord(body)) return refuse('We could not parse the JSON body of your request.')
  const surrogate = loneSurrogateAt(body)
  if (surrogate !== null)
    return refuse(`We could not parse the JSON body of your request: lone surrogate in ${surrogate}`)
  if (text(body.model) === '') return refuse("Missing required parameter: 'model'.")
  if (typeof body.max_output_tokens === 'number' && body.max_output_tokens < MIN_OUTPUT_TOKENS)
    return refuse(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT_TOKENS}.`,
    )
  if (typeof body.input === 'string')
    return body.input === '' ? refuse("Invalid 'input': empty string.") : null
  if (!Array.isArray(body.input) || body.input.length === 0)
    return refuse("Missing required parameter: 'input'.")
  return checkFunctions(list(body.tools)) ?? checkItems(list(body.input), body.store === false)
}

function checkFunctions(tools: readonly unknown[]): Refusal | null {
  const names = new Set<string>()
  for (const [i, tool] of tools.entries()) {
    if (!isRecord(tool)) return refuse(`Invalid type for 'tools[${i}]': expected an object.`)
    if (tool.type !== 'function') continue
    const name = text(tool.name)
    if (!FUNCTION_NAME.test(name)) return refuse(`Invalid 'tools[${i}].name': string does not match pattern.`)
    if (names.has(name)) return refuse(`Invalid 'tools': duplicate function name '${name}'.`)
    names.add(name)
    if (!isRecord(tool.parameters) || tool.parameters.type !== 'object')
      return refuse(
        `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"'.`,
      )
  }
  return null
}

function checkItems(items: readonly unknown[], stateless: boolean): Refusal | null {
  const calls = new Map<string, boolean>() // true once answered
  const itemIds = new Set<string>()
  for (const [i, item] of items.entries()) {
    if (!isRecord(item)) return refuse(`Invalid type for 'input[${i}]': expected an object.`)
    if (typeof item.id === 'string') {
      if (item.id.length > MAX_ID_CHARS)
        return refuse(`Invalid 'input[${i}].id': string too long. Expected maximum length ${MAX_ID_CHARS}.`)
      if (itemIds.has(item.id))
        return refuse(`Duplicate item found with id ${item.id}. Remove duplicate items.`)
      itemIds.add(item.id)
    }
    const bad =
      checkItem(item, i, calls) ?? (item.type === 'reasoning' ? checkReasoning(items, i, stateless) : null)
    if (bad !== null) return bad
  }
  const open = [...calls].filter(([, answered]) => !answered).map(([id]) => id)
  return open.length === 0 ? null : refuse(`No tool output found for function call ${open[0]}.`)
}

function checkItem(item: JsonRecord, i: number, calls: Map<string, boolean>): Refusal | null {
  switch (item.type ?? 'message') {
    case 'message':
      return checkMessage(item, i, calls)
    case 'function_call': {
      const id = text(item.call_id)
      if (id === '' || id.length > MAX_ID_CHARS) return refuse(`Invalid 'input[${i}].call_id'.`)
      if (calls.has(id)) return refuse(`Duplicate function call found with call_id ${id}.`)
      if (item.id !== undefined && !text(item.id).startsWith('fc'))
        return refuse(`Invalid 'input[${i}].id': '${text(item.id)}'. Expected an ID that begins with 'fc'.`)
      if (!FUNCTION_NAME.test(text(item.name))) return refuse(`Invalid 'input[${i}].name'.`)
      if (!isJsonObject(item.arguments))
        return refuse(`Invalid 'input[${i}].arguments': expected the text of a JSON object.`)
      calls.set(id, false)
      return null
    }
    case 'function_call_output': {
      const id = text(item.call_id)
      const answered = calls.get(id)
      if (answered === undefined)
        return refuse(`No tool call found for function call output with call_id ${id}.`)
      if (answered) return refuse(`Duplicate function call output found with call_id ${id}.`)
      if (typeof item.output !== 'string' && !Array.isArray(item.output))
        return refuse(`Missing required parameter: 'input[${i}].output'.`)
      calls.set(id, true)
      return null
    }
    case 'additional_tools':
      return checkFunctions(list(item.tools))
    case 'tool_search_output':
      return checkFunctions(list(item.tools))
    case 'reasoning':
    case 'configuration_update':
    case 'tool_search_call':
      return null
    default:
      return refuse(`Invalid value: '${text(item.type)}' for 'input[${i}].type'.`)
  }
}

function checkMessage(item: JsonRecord, i: number, calls: ReadonlyMap<string, boolean>): Refusal | null {
  const role = text(item.role)
  if (!['user', 'assistant', 'system', 'developer'].includes(role))
    return refuse(`Invalid 'input[${i}].role'.`)
  // A prompt after a call that nobody answered would be sent with the call still open.
  const open = [...calls].find(([, answered]) => !answered)
  if (role === 'user' && open !== undefined)
    return refuse(`No tool output found for function call ${open[0]}.`)
  if (item.id !== undefined && !text(item.id).startsWith('msg'))
    return refuse(`Invalid 'input[${i}].id': '${text(item.id)}'. Expected an ID that begins with 'msg'.`)
  if (typeof item.content === 'string') return null
  const parts = list(item.content)
  if (parts.length === 0) return refuse(`Missing required parameter: 'input[${i}].content'.`)
  const allowed = role === 'assistant' ? ['output_text', 'refusal'] : ['input_text', 'input_image']
  for (const [j, part] of parts.entries()) {
    const type = isRecord(part) ? text(part.type) : ''
    if (!allowed.includes(type))
      return refuse(
        `Invalid value: '${type}' for 'input[${i}].content[${j}].type'. Supported values are: ${allowed.join(', ')}.`,
      )
  }
  return null
}

function checkReasoning(items: readonly unknown[], i: number, stateless: boolean): Refusal | null {
  const item = items[i]
  if (!isRecord(item)) return null
  const id = text(item.id)
  if (stateless && text(item.encrypted_content) === '')
    return refuse(`Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`)
  const next = items[i + 1]
  const follows =
    isRecord(next) &&
    (next.role === 'assistant' || next.type === 'function_call' || next.type === 'reasoning')
  return follows
    ? null
    : refuse(`Item '${id}' of type 'reasoning' was provided without its required following item.`)
}
