/** The wire of Bedrock's ConverseStream: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html */
import { crc32 } from 'node:zlib'
import { isRecord, type JsonRecord, records, text } from './json.ts'
import { chunks, type PreparedTurn, type SeenMessage } from './model-script.ts'
import { thinkingSignature } from './validate-anthropic.ts'
import { validateBedrock } from './validate-bedrock.ts'
import type { SseEvent, Wire } from './wire.ts'

const PATH = /^\/model\/([^/]+)\/converse-stream$/

export const bedrockWire: Wire = {
  name: 'bedrock',
  serves: path => PATH.test(path),
  keyOf: headers => headers.authorization?.replace(/^Bearer /, '') ?? null,
  validate: validateBedrock,
  see(body, path) {
    const request: JsonRecord = isRecord(body) ? body : {}
    const toolConfig = isRecord(request.toolConfig) ? request.toolConfig : {}
    return {
      model: decodeURIComponent(PATH.exec(path)?.[1] ?? ''),
      system: records(request.system)
        .map(block => text(block.text))
        .filter(one => one !== '')
        .join('\n'),
      messages: records(request.messages).map(seeMessage),
      tools: records(toolConfig.tools).flatMap(tool =>
        isRecord(tool.toolSpec) ? [text(tool.toolSpec.name)] : [],
      ),
    }
  },
  events,
  errorBody: ({ type, message }) => JSON.stringify({ __type: type, message }),
  errorEvent: (type, message) => ({ event: `exception ${type}`, data: JSON.stringify({ message }) }),
  streams: true,
  framed: { contentType: 'application/vnd.amazon.eventstream', frame },
}

function seeMessage(message: JsonRecord): SeenMessage {
  const blocks = records(message.content)
  const part = (name: string) => blocks.map(block => block[name]).filter(isRecord)
  return {
    role: message.role === 'assistant' ? 'assistant' : 'user',
    text: blocks
      .map(block => text(block.text))
      .filter(one => one !== '')
      .join('\n'),
    calls: part('toolUse').map(use => ({ id: text(use.toolUseId), name: text(use.name), input: use.input })),
    results: part('toolResult').map(result => ({
      callId: text(result.toolUseId),
      text: records(result.content)
        .map(block => text(block.text))
        .join('\n'),
      isError: result.status === 'error',
    })),
  }
}

function* events(turn: PreparedTurn): Generator<SseEvent> {
  const event = (name: string, data: object): SseEvent => ({ event: name, data: JSON.stringify(data) })
  let contentBlockIndex = 0
  const delta = (part: object) => event('contentBlockDelta', { contentBlockIndex, delta: part })
  const stop = () => event('contentBlockStop', { contentBlockIndex: contentBlockIndex++ })
  yield event('messageStart', { role: 'assistant' })
  if (turn.thinking !== '') {
    for (const piece of chunks(turn.thinking, turn.chunkChars))
      yield delta({ reasoningContent: { text: piece } })
    yield delta({ reasoningContent: { signature: thinkingSignature(turn.thinking) } })
    yield stop()
  }
  if (turn.text !== '') {
    for (const piece of chunks(turn.text, turn.chunkChars)) yield delta({ text: piece })
    yield stop()
  }
  for (const call of turn.calls) {
    const toolUse = { toolUseId: `tooluse_${call.id}`, name: call.name }
    yield event('contentBlockStart', { contentBlockIndex, start: { toolUse } })
    for (const input of chunks(call.arguments, turn.chunkChars)) yield delta({ toolUse: { input } })
    yield stop()
  }
  yield event('messageStop', { stopReason: turn.stop === 'refusal' ? 'content_filtered' : turn.stop })
  const { usage } = turn
  yield event('metadata', {
    usage: {
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      cacheReadInputTokens: usage.cacheReadTokens,
      cacheWriteInputTokens: usage.cacheWriteTokens,
      totalTokens: usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
    },
    metrics: { latencyMs: 1 },
  })
}

const STRING = 7 // the type byte of a header whose value is text

/** One message of `application/vnd.amazon.eventstream`: lengths, their checksum, headers, payload, checksum. */
function frame({ event, data }: SseEvent): Uint8Array {
  const [kind, name] = event?.startsWith('exception ')
    ? ['exception', event.slice(10)]
    : ['event', event ?? '']
  const headers = Buffer.concat(
    [
      [':message-type', kind ?? ''],
      [kind === 'exception' ? ':exception-type' : ':event-type', name ?? ''],
      [':content-type', 'application/json'],
    ].map(([key = '', value = '']) => {
      const head = Buffer.from([key.length, ...Buffer.from(key), STRING, 0, 0])
      head.writeUInt16BE(value.length, head.length - 2)
      return Buffer.concat([head, Buffer.from(value)])
    }),
  )
  const payload = Buffer.from(data)
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const whole = Buffer.concat([prelude, headers, payload])
  const end = Buffer.alloc(4)
  end.writeUInt32BE(crc32(whole))
  return Buffer.concat([whole, end])
}
