/** Referee for OpenAI Chat Completions: says about a request what the vendor's endpoint would say, or null. */
import { isRecord, type JsonRecord, list, loneSurrogateAt, records, text } from './json.ts'
import { type Refusal, refuse } from './wire.ts'

const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const MAX_CALL_ID_CHARS = 40
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool']

export function validateOpenAiChat(body: unknown): Refusal | null {
  if (!isRecord(body)) return refuse('We could not parse the JSON body of your request.')
  const surrogate = loneSurrogateAt(body)
  if (surrogate !== null)
    return refuse(`We could not parse the JSON body of your request: lone surrogate in ${surrogate}`)
  if (text(body.model) === '') return refuse('you must provide a model parameter')
  if (!Array.isArray(body.messages) || body.messages.length === 0)
    return refuse("Invalid 'messages': empty array. Expected an array with minimum length 1.")
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined)
    return refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
  if (body.stream_options !== undefined && body.stream !== true)
    return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
  return checkFunctions(body) ?? checkMessages(list(body.messages))
}

function checkFunctions(body: JsonRecord): Refusal | null {
  if (body.tools === undefined) return null
  const tools = list(body.tools)
  if (tools.length === 0)
    return refuse("Invalid 'tools': empty array. Expected an array with minimum length 1.")
  const names = new Set<string>()
  for (const [i, tool] of tools.entries()) {
    const fn = isRecord(tool) && tool.type === 'function' ? tool.function : undefined
    if (!isRecord(fn)) return refuse(`Missing required parameter: 'tools[${i}].function'.`)
    const name = text(fn.name)
    if (!FUNCTION_NAME.test(name))
      return refuse(
        `Invalid 'tools[${i}].function.name': expected a string that matches the pattern '${FUNCTION_NAME.source}'.`,
      )
    if (names.has(name)) return refuse(`Invalid 'tools': duplicate function name '${name}'.`)
    names.add(name)
    if (fn.parameters !== undefined && (!isRecord(fn.parameters) || fn.parameters.type !== 'object'))
      return refuse(
        `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`,
      )
  }
  return null
}

function checkMessages(messages: readonly unknown[]): Refusal | null {
  let open = new Map<string, boolean>() // the calls of the last assistant message, true once answered
  const missing = (): Refusal | null => {
    const ids = [...open].filter(([, answered]) => !answered).map(([id]) => id)
    return ids.length === 0
      ? null
      : refuse(
          `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
        )
  }
  for (const [i, message] of messages.entries()) {
    if (!isRecord(message)) return refuse(`Invalid type for 'messages[${i}]': expected an object.`)
    const role = text(message.role)
    if (!ROLES.includes(role))
      return refuse(`Invalid value: '${role}'. Supported values are: ${ROLES.join(', ')}.`)
    if (role === 'tool') {
      const bad = checkResult(message, i, open)
      if (bad !== null) return bad
      open.set(text(message.tool_call_id), true)
      continue
    }
    const unanswered = missing()
    if (unanswered !== null) return unanswered
    open = new Map()
    const bad = role === 'assistant' ? checkAssistant(message, i) : checkText(message, i)
    if (bad !== null) return bad
    for (const call of records(message.tool_calls)) {
      const id = text(call.id)
      if (open.has(id)) return refuse(`Invalid 'messages[${i}].tool_calls': duplicate id '${id}'.`)
      open.set(id, false)
    }
  }
  return missing()
}

function checkResult(message: JsonRecord, i: number, open: ReadonlyMap<string, boolean>): Refusal | null {
  const id = text(message.tool_call_id)
  if (open.size === 0)
    return refuse(
      `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages[${i}])`,
    )
  const answered = open.get(id)
  if (answered === undefined)
    return refuse(
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message. (messages[${i}])`,
    )
  if (answered)
    return refuse(`Invalid parameter: 'tool_call_id' of '${id}' is answered twice. (messages[${i}])`)
  return checkText(message, i)
}

function checkAssistant(message: JsonRecord, i: number): Refusal | null {
  if (message.tool_calls === undefined) return checkText(message, i)
  const calls = list(message.tool_calls)
  if (calls.length === 0)
    return refuse(
      `Invalid 'messages[${i}].tool_calls': empty array. Expected an array with minimum length 1.`,
    )
  for (const [j, call] of calls.entries()) {
    const at = `messages[${i}].tool_calls[${j}]`
    if (!isRecord(call) || call.type !== 'function' || !isRecord(call.function))
      return refuse(`Missing required parameter: '${at}.function'.`)
    const id = text(call.id)
    if (id === '' || id.length > MAX_CALL_ID_CHARS)
      return refuse(
        `Invalid '${at}.id': expected a string with 1 to ${MAX_CALL_ID_CHARS} characters, got ${id.length}.`,
      )
    if (!FUNCTION_NAME.test(text(call.function.name))) return refuse(`Invalid '${at}.function.name'.`)
    if (!isJsonObject(call.function.arguments))
      return refuse(`Invalid '${at}.function.arguments': expected the text of a JSON object.`)
  }
  const content = message.content
  return content === null || content === undefined || content === '' ? null : checkText(message, i)
}

function checkText(message: JsonRecord, i: number): Refusal | null {
  const { content } = message
  if (typeof content === 'string') return null
  if (!Array.isArray(content))
    return refuse(
      `Invalid value for 'content': expected a string, got ${content === null ? 'null' : typeof content}. (messages[${i}])`,
    )
  if (content.length === 0) return refuse(`Invalid 'messages[${i}].content': empty array.`)
  for (const [j, part] of content.entries()) {
    if (!isRecord(part) || (part.type !== 'text' && part.type !== 'image_url'))
      return refuse(`Invalid value: 'messages[${i}].content[${j}].type'.`)
    if (part.type === 'image_url' && message.role !== 'user')
      return refuse(`Invalid 'messages[${i}]': image URLs are only allowed for messages with role 'user'.`)
  }
  return null
}

/** vLLM, Mistral and proxies to other vendors parse the arguments of earlier calls, so they must be an object. */
export function isJsonObject(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    return isRecord(JSON.parse(value))
  } catch {
    return false
  }
}
