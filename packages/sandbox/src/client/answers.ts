/** What an endpoint says becomes typed values here, after its schema has seen it: an endpoint is an outside. */
import {
  type ExecFrame,
  execAnswer,
  execErrorBody,
  execFrame,
  execHealth,
  type FileList,
  type FileStat,
  fileKind,
  fileStat,
} from '@beige/protocol'
import { arr, bool, compile, int, obj, opt, str } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import type { ExecEnd } from '../exec-client.ts'
import type { WholeAnswer } from './transport.ts'

const MAX_SHOWN_CHARS = 200 // of a wrong answer, in its error

export const healthSchema = compile(execHealth)
export const answerSchema = compile(execAnswer)
const statSchema = compile(fileStat)
// A name that is no text comes as base64, and one such file must not hide all the others.
const listEntry = obj(
  {
    ...{ path: opt(str()), path_b64: opt(str()), target: opt(str()), target_b64: opt(str()) },
    ...{ kind: fileKind, size: int() },
  },
  { open: true },
)
const b64Target = compile(obj({ target_b64: str() }, { open: true }))
const listSchema = compile(obj({ entries: arr(listEntry), truncated: bool() }, { open: true }))
const frameSchema = compile(execFrame)
const errorSchema = compile(execErrorBody)

type Checked<T> = { check(value: unknown): value is T }

/** The JSON of a 200, or the error that the endpoint answered. */
export function parseAnswer<T>(answer: WholeAnswer, schema: Checked<T>, endpoint: string): T {
  if (answer.status !== 200) throw refusal(answer, endpoint)
  const value = parseJson(answer.bytes)
  if (!schema.check(value)) throw wrong(endpoint, answer.bytes)
  return value
}

export function parseList(answer: WholeAnswer, endpoint: string): FileList {
  const { entries, truncated } = parseAnswer(answer, listSchema, endpoint)
  const named = entries.map(({ path, path_b64, target, target_b64, kind, size }) => {
    const leads = textOr(target, target_b64, endpoint)
    const name = { path: textOr(path, path_b64, endpoint) ?? '', kind, size }
    return leads === null ? name : { ...name, target: leads }
  })
  return { entries: named, truncated }
}

export function parseFileStat(answer: WholeAnswer, endpoint: string): FileStat {
  const stat: FileStat = parseAnswer(answer, statSchema, endpoint)
  if (!b64Target.check(stat)) return stat
  return { ...stat, target: decodeBase64(stat.target_b64, endpoint).toString('utf8') }
}

function textOr(text: string | undefined, base64: string | undefined, endpoint: string): string | null {
  if (text !== undefined) return text
  return base64 === undefined ? null : decodeBase64(base64, endpoint).toString('utf8')
}

const OUTPUT_HEAD = /^\{"type":"(stdout|stderr)","offset":(\d{1,15}),"data":"/
const OUTPUT_HEAD_CHARS = 64

/**
 * An output frame as execd writes it, decoded without its text going through JSON, which would cost most of the time that a
 * large output takes. Null for anything else, and for whatever is wrong: `parseFrame` says what.
 */
export function outputFrame(
  line: Buffer,
): { type: 'stdout' | 'stderr'; offset: number; bytes: Buffer } | null {
  const head = OUTPUT_HEAD.exec(line.toString('latin1', 0, OUTPUT_HEAD_CHARS))
  if (head === null || line.at(-2) !== QUOTE || line.at(-1) !== BRACE) return null
  const bytes = base64Of(line.toString('latin1', head[0].length, line.length - 2))
  return bytes && { type: head[1] === 'stdout' ? 'stdout' : 'stderr', offset: Number(head[2]), bytes }
}
const QUOTE = 0x22
const BRACE = 0x7d

export function parseFrame(line: Buffer, endpoint: string): ExecFrame {
  const value = parseJson(line)
  if (!frameSchema.check(value)) throw wrong(endpoint, line)
  return value
}

/** The endpoint's own `{code, message}`; null when the body is not one of its errors. */
export function errorOf(answer: WholeAnswer): { code: string; message: string } | null {
  const value = parseJson(answer.bytes)
  return errorSchema.check(value) ? value.error : null
}

export function refusal(answer: WholeAnswer, endpoint: string) {
  const error = errorOf(answer)
  if (!error) {
    return fail('endpoint_wrong', { endpoint, reason: `status ${answer.status}: ${shown(answer.bytes)}` })
  }
  const { code, message } = error
  return fail('endpoint_refused', {
    code,
    message,
    status: answer.status,
    commandStarted: code === 'too_large',
  })
}

/** Strict: Node's decoder skips what is not base64, which would lose bytes without a word. */
export function decodeBase64(text: string, endpoint: string): Buffer {
  const bytes = base64Of(text)
  if (bytes === null) throw fail('endpoint_wrong', { endpoint, reason: 'output that is not base64' })
  return bytes
}

function base64Of(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return text.length % 4 === 0 && bytes.length === (text.length / 4) * 3 - padding ? bytes : null
}

/** The end of a command as the wire has it, in a one-shot answer or in an exit frame. */
export function endOf(end: {
  exit_code: number | null
  signal: string | null
  timed_out: boolean
  held_pipes?: boolean
}): ExecEnd {
  return {
    exitCode: end.exit_code,
    signal: end.signal,
    timedOut: end.timed_out,
    heldPipes: end.held_pipes ?? false,
  }
}

function wrong(endpoint: string, bytes: Buffer) {
  return fail('endpoint_wrong', { endpoint, reason: `an answer that is none of exec/2: ${shown(bytes)}` })
}

function shown(bytes: Buffer): string {
  return JSON.stringify(bytes.subarray(0, MAX_SHOWN_CHARS).toString('utf8'))
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined // no schema accepts it, so its caller reports it
  }
}
