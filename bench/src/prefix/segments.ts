/**
 * A request as a prompt cache reads it: model, tools, system, then the history, piece by piece. Marks of where to cache
 * are no content, and neither is what tells vendors how to answer. Pure.
 */
import type { WireName } from '@beige/test-support'

export type SegmentKind = 'model' | 'tools' | 'system' | 'history'
export type Segment = { kind: SegmentKind; text: string }
type Json = Readonly<Record<string, unknown>>

export function segmentsOf(wire: WireName, body: unknown, path: string): Segment[] {
  const request = isJson(body) ? body : {}
  const pieces = (kind: SegmentKind, ...values: readonly unknown[]): Segment[] =>
    values.flatMap(value => (value === undefined ? [] : [{ kind, text: canonical(value) }]))
  switch (wire) {
    case 'anthropic':
      return [
        ...pieces('model', request.model),
        ...pieces('tools', ...list(request.tools)),
        ...pieces('system', ...list(request.system)),
        ...pieces('history', ...list(request.messages).flatMap(blocksOf)),
      ]
    case 'openai-chat': {
      const [first, ...rest] = list(request.messages)
      return [
        ...pieces('model', request.model),
        ...pieces('tools', ...list(request.tools)),
        ...pieces('system', first),
        ...pieces('history', ...rest),
      ]
    }
    case 'openai-responses': {
      const [first, ...rest] = list(request.input)
      const system = request.instructions === undefined ? first : request.instructions
      return [
        ...pieces('model', request.model),
        ...pieces('tools', ...list(request.tools)),
        ...pieces('system', system),
        ...pieces('history', ...(request.instructions === undefined ? rest : list(request.input))),
      ]
    }
    case 'gemini':
      return [
        ...pieces('model', path),
        ...pieces('tools', ...list(request.tools)),
        ...pieces('system', request.systemInstruction),
        ...pieces('history', ...list(request.contents).flatMap(partsOf)),
      ]
    case 'bedrock': {
      const { tools } = isJson(request.toolConfig) ? request.toolConfig : { tools: [] }
      return [
        ...pieces('model', path),
        ...pieces('tools', ...list(tools)),
        ...pieces('system', ...list(request.system).filter(isContent)),
        ...pieces('history', ...list(request.messages).flatMap(blocksOf)),
      ]
    }
    default:
      return wire satisfies never
  }
}

export type Repeat = {
  bytes: number
  /** Of this request: the bytes that the last one began with too. */
  repeated: number
  /** Of the last request: its bytes. */
  lastBytes: number
  /** What came first that is another; null where the last request is whole in this one. */
  broken: { kind: SegmentKind; was: string; is: string } | null
}

export function repeatOf(last: readonly Segment[], now: readonly Segment[]): Repeat {
  const size = (segments: readonly Segment[]) =>
    segments.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  const different = last.findIndex((segment, i) => now[i]?.text !== segment.text)
  const same = different < 0 ? last.length : different
  const was = last[same]
  return {
    bytes: size(now),
    repeated: size(now.slice(0, same)),
    lastBytes: size(last),
    broken: was === undefined ? null : { kind: was.kind, was: was.text, is: now[same]?.text ?? '(nothing)' },
  }
}

/** A piece for each block, with the role before it: a later block of one message is no break of an earlier one. */
function blocksOf(message: unknown): unknown[] {
  if (!isJson(message)) return [message]
  const content = Array.isArray(message.content) ? list(message.content) : [{ text: message.content }]
  return content.filter(isContent).map(block => [message.role, block])
}

function partsOf(content: unknown): unknown[] {
  return isJson(content) ? list(content.parts).map(part => [content.role, part]) : [content]
}

const MARKS = ['cache_control', 'cachePoint', 'prompt_cache_breakpoint']

/** Bedrock's mark of the cache is a block of its own. */
function isContent(block: unknown): boolean {
  return !(isJson(block) && Object.keys(block).every(key => MARKS.includes(key)))
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (key, one: unknown) => (MARKS.includes(key) ? undefined : one))
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined ? [] : [value]
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
