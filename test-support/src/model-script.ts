/** What a scripted model says: turns, faults, and two ready scripts. The same script serves every wire. */
import { randomUUID } from 'node:crypto'

export type WireName = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini' | 'bedrock'

/** `rawInput` is sent as the arguments' text as it is, e.g. JSON that is cut off. */
export type ScriptedCall = { name: string; input?: unknown; rawInput?: string; id?: string }

export type ScriptedUsage = {
  inputTokens: number // without what came from or went to the cache
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
}

/**
 * `afterEvents` counts the events (SSE blocks) that were written before it happens; `when` is waited for then, since a
 * client may drop what it has not read when the connection breaks.
 */
export type Fault =
  /** An error answer. Without `body` it has the vendor's shape with `type` and `message`. */
  | {
      kind: 'status'
      status: number
      headers?: Readonly<Record<string, string>>
      body?: string
      type?: string
      message?: string
    }
  /** The connection is destroyed. */
  | { kind: 'cut'; afterEvents: number; when?: Promise<unknown> }
  /** The body ends properly, but the vendor's last event is missing. */
  | { kind: 'end'; afterEvents: number; when?: Promise<unknown> }
  /** Nothing more is sent and the connection stays open. */
  | { kind: 'silence'; afterEvents: number; when?: Promise<unknown> }
  /** The vendor's error event in the middle of the stream. */
  | { kind: 'error_event'; afterEvents: number; when?: Promise<unknown>; type: string; message: string }

export type Turn = {
  thinking?: string
  text?: string
  calls?: readonly ScriptedCall[]
  usage?: Partial<ScriptedUsage>
  /** Default: `tool_use` with calls, else `end_turn`. */
  stop?: 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal'
  /** Characters of one delta; default 24. */
  chunkChars?: number
  /** Waited before each event. */
  delayMs?: number
  fault?: Fault
}

export type SeenToolResult = { callId: string; text: string; isError: boolean }
export type SeenMessage = {
  role: 'user' | 'assistant'
  text: string
  calls: readonly { id: string; name: string; input: unknown }[]
  results: readonly SeenToolResult[]
}

/** A request as a script sees it, whatever its wire. */
export type SeenRequest = {
  /** 0 for the first request of the server that reached the script. */
  index: number
  wire: WireName
  model: string
  system: string
  messages: readonly SeenMessage[]
  tools: readonly string[]
  headers: Readonly<Record<string, string>>
  body: unknown
}

export type Script = readonly Turn[] | ((request: SeenRequest) => Turn | Promise<Turn>)

/** The turn for a request; a list that has run out answers 500, so that a test sees it at once. */
export async function turnFor(script: Script, request: SeenRequest): Promise<Turn> {
  if (typeof script === 'function') return script(request)
  return (
    script[request.index] ?? {
      fault: { kind: 'status', status: 500, message: `the script has no turn ${request.index}` },
    }
  )
}

/** The results that came in after the model's last message. */
export function latestResults(request: SeenRequest): readonly SeenToolResult[] {
  const from = request.messages.findLastIndex(m => m.role === 'assistant') + 1
  return request.messages.slice(from).flatMap(m => m.results)
}
export function lastPrompt(request: SeenRequest): string {
  const prompt = request.messages.findLast(m => m.role === 'user' && withoutNotices(m.text) !== '')
  return withoutNotices(prompt?.text ?? '')
}

/** What a person said: the harness puts notices into messages of the user, and makes some of nothing else. */
function withoutNotices(text: string): string {
  return text.replace(/<notice[^>]*>[\s\S]*?<\/notice>\n?/g, '').trim()
}

/** Says what it was told. */
export function echoScript(request: SeenRequest): Turn {
  return { text: lastPrompt(request) }
}

/** What a computed step gets: the last result (also when several came), all of them, and the request. */
export type StepInput = {
  lastResult: SeenToolResult | null
  results: readonly SeenToolResult[]
  request: SeenRequest
}
export type Step = Turn | ((input: StepInput) => Turn)

/**
 * Replays `steps` after each prompt. The place is read from the request's history (model messages since the last
 * prompt), so repeated requests get the same step and any number of sessions can share one server. After the last
 * step it says `done`.
 */
export function taskScript(steps: readonly Step[]): (request: SeenRequest) => Turn {
  return request => {
    const prompt = request.messages.findLastIndex(
      m => m.role === 'user' && m.results.length === 0 && withoutNotices(m.text) !== '',
    )
    const place = request.messages.slice(prompt + 1).filter(m => m.role === 'assistant').length
    const step = steps[place]
    if (step === undefined) return { text: 'done' }
    if (typeof step !== 'function') return step
    const results = latestResults(request)
    return step({ lastResult: results.at(-1) ?? null, results, request })
  }
}

/** What a wire writes for a turn: defaults filled in, ids made. */
export type PreparedTurn = {
  thinking: string
  text: string
  calls: readonly { id: string; name: string; arguments: string }[]
  usage: ScriptedUsage
  stop: 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal'
  chunkChars: number
}

export function prepareTurn(turn: Turn, request: SeenRequest): PreparedTurn {
  const calls = (turn.calls ?? []).map(call => ({
    id: call.id ?? newId(),
    name: call.name,
    arguments: call.rawInput ?? JSON.stringify(call.input ?? {}),
  }))
  const said = (turn.thinking ?? '') + (turn.text ?? '') + calls.map(call => call.arguments).join('')
  return {
    thinking: turn.thinking ?? '',
    text: turn.text ?? '',
    calls,
    usage: {
      inputTokens: Math.ceil(JSON.stringify(request.body).length / 4),
      outputTokens: Math.max(1, Math.ceil(said.length / 4)),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      ...turn.usage,
    },
    stop: turn.stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
    chunkChars: turn.chunkChars ?? 24,
  }
}

/** 24 characters that no other answer has; the wires put their own prefix before it. */
export function newId(): string {
  return randomUUID().replaceAll('-', '').slice(0, 24)
}

/** Cuts at `size` UTF-16 units, but never inside a pair. */
export function chunks(whole: string, size: number): string[] {
  const out: string[] = []
  let piece = ''
  for (const char of whole) {
    piece += char
    if (piece.length >= size) {
      out.push(piece)
      piece = ''
    }
  }
  if (piece !== '') out.push(piece)
  return out
}
