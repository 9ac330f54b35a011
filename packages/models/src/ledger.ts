/**
 * `usage.jsonl`: one line for each request that reached a provider, only ever appended. Lines that wait are written and
 * synced together. A torn line is left where it is and the next begins on a new one, so that several processes may
 * append to one file.
 */
import { messageOf } from '@beige/protocol'
import { compile, int, lit, obj, opt, type Static, str } from '@earendil-works/pi-schema'
import { parse } from './json.ts'
import type { StateDisk } from './outside.ts'

const line = obj(
  {
    v: lit(1),
    /** A write that failed halfway is done again; the reader takes a line once. */
    id: str({ maxLength: 64 }),
    /** When the request was sent. */
    ts: str({ maxLength: 40 }),
    provider: str(),
    model: str(),
    session: str(),
    agent: opt(str()),
    tenant: opt(str()),
    key: opt(str()),
    /** `done`, `aborted`, or the class of the failure. */
    end: str(),
    input: int({ minimum: 0 }),
    output: int({ minimum: 0 }),
    cacheRead: int({ minimum: 0 }),
    cacheWrite: int({ minimum: 0 }),
    cacheWrite1h: opt(int({ minimum: 0 })),
    reasoning: opt(int({ minimum: 0 })),
    costNanoUsd: int({ minimum: 0 }),
    estimated: opt(lit(true)),
  },
  { open: true },
)
export type LedgerLine = Static<typeof line>
const schema = compile(line)

export type Ledger = {
  /** Resolves when the line is durable, or when it could not be written, which `error` then says. */
  append(line: LedgerLine): Promise<void>
  /** Of the last write; null when it went well. What failed is written with the next line. */
  error(): string | null
  close(): Promise<void>
}

export type LedgerFile = { path: string; disk: StateDisk }
const MAX_WAITING_LINES = 100_000 // 30 MB: of a disk that stays full, the oldest are lost and said
const NEWLINE = '\n'

export function openLedger({ path, disk }: LedgerFile, warn: (text: string) => void): Ledger {
  let waiting: string[] = []
  let writing: Promise<void> | null = null
  let lastError: string | null = null
  let file: Awaited<ReturnType<StateDisk['append']>> | null = null
  // True where the last line may be a part of one.
  let isTorn = false

  async function writeWaiting(): Promise<void> {
    const batch = waiting
    waiting = []
    try {
      if (file === null) {
        file = await disk.append(path)
        isTorn = !file.endsWithNewline
      }
      const start = isTorn ? NEWLINE : ''
      await file.write(new TextEncoder().encode(start + batch.join('')))
      await file.sync()
      isTorn = false
      if (lastError !== null) warn(`${path} is written again`)
      lastError = null
    } catch (error) {
      waiting = [...batch, ...waiting].slice(-MAX_WAITING_LINES)
      if (lastError === null) warn(`usage could not be written to ${path}: ${messageOf(error)}`)
      lastError = messageOf(error)
      await file?.close().catch(() => undefined) // it is opened anew, which tells how it ends
      file = null
    }
  }
  /** The batch that a line is in begins when the one before is durable. */
  const flush = (): Promise<void> => {
    writing ??= Promise.resolve().then(async () => {
      await writeWaiting()
      writing = null
    })
    return writing
  }

  return {
    async append(entry) {
      waiting.push(JSON.stringify(entry) + NEWLINE)
      if (writing !== null) await writing
      if (waiting.length > 0) await flush()
    },
    error: () => lastError,
    async close() {
      if (writing !== null) await writing
      if (waiting.length > 0) await flush()
      await file?.close()
      file = null
    },
  }
}

/** Everything that was used, in order; `skipped` lines were torn or are no lines of ours. */
export async function readLedger(
  { path, disk }: LedgerFile,
  take: (line: LedgerLine) => void,
): Promise<{ skipped: number }> {
  const decoder = new TextDecoder()
  const seen = new Set<string>()
  let skipped = 0
  let rest = ''
  const takeText = (text: string): void => {
    if (text === '') return
    const found = parse(text)
    if (!schema.check(found) || Number.isNaN(Date.parse(found.ts))) skipped++
    else if (!seen.has(found.id)) {
      take(found)
      seen.add(found.id)
      const [oldest] = seen
      if (seen.size > MAX_REMEMBERED_IDS && oldest !== undefined) seen.delete(oldest)
    }
  }
  for await (const piece of disk.readPieces(path)) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split(NEWLINE)
    rest = (lines.pop() ?? '').slice(-MAX_LINE_CHARS)
    for (const text of lines) takeText(text)
  }
  takeText(rest)
  return { skipped }
}
const MAX_LINE_CHARS = 1_000_000
const MAX_REMEMBERED_IDS = 10_000 // what is written again comes soon after
