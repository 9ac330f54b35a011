/**
 * The one error type of the product. A package declares its closed table of codes once and throws through the function
 * that the table gives; only an edge (command line, frame, tool result) turns an error into text.
 *
 * @example
 * const fail = failer({ no_engine: { says: 'no engine answers at {socket}', retryable: true, advice: 'Start dockerd' } })
 * throw fail('no_engine', { socket: '/run/docker.sock' })
 */

/** One code: what is said, whether a repeat may help, what a person can do. `{name}` takes a value of the data. */
export type ErrorEntry = { says: string; retryable: boolean; advice: string }
export type ErrorTable = Readonly<Record<string, ErrorEntry>>
export type ErrorData = Readonly<Record<string, unknown>>

const MAX_VALUE_CHARS = 2048 // of one value in a message; the whole value stays in `data`

export class BeigeError extends Error {
  readonly code: string
  readonly retryable: boolean
  readonly advice: string
  readonly data: ErrorData

  constructor(code: string, entry: ErrorEntry, data: ErrorData, cause: unknown) {
    super(fill(entry.says, data), cause === undefined ? undefined : { cause })
    this.name = 'BeigeError'
    this.code = code
    this.retryable = entry.retryable
    this.advice = fill(entry.advice, data)
    this.data = data
  }
}

export type Fail<Code extends string> = (code: Code, data?: ErrorData, cause?: unknown) => BeigeError

/** Makes the function that builds errors of one table. */
export function failer<T extends ErrorTable>(table: T): Fail<keyof T & string> {
  return (code, data = {}, cause) => {
    const entry = table[code] ?? { says: code, retryable: false, advice: '' }
    return new BeigeError(code, entry, data, cause)
  }
}

/** True when `error` is ours and has one of the codes. */
export function isError(error: unknown, ...codes: readonly string[]): error is BeigeError {
  return error instanceof BeigeError && (codes.length === 0 || codes.includes(error.code))
}

/** What happened and what to do about it, in one line for a person. */
export function explain(error: unknown): string {
  if (!(error instanceof BeigeError) || error.advice === '') return messageOf(error)
  return `${error.message.replace(/[.\s]+$/, '')}. ${error.advice}`
}

/** What any thrown value says, without a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

// One pass over the template: values are never scanned for placeholders again (H103).
function fill(template: string, data: ErrorData): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = data[name]
    if (value === undefined) return whole
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text
  })
}
