/**
 * The values of one agent: a log of changes, one JSON line each, on disk before a change is answered. A tail that a crash
 * tore off was never answered and is cut when the log is opened; a log of mostly old lines is written anew.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readFile, rename } from 'node:fs/promises'

export interface Store {
  get(key: string): Uint8Array | undefined
  keys(prefix: string): string[]
  readonly size: number
  /** Resolves when the change is on disk. */
  set(key: string, value: Uint8Array): Promise<void>
  /** False where there is no such key. */
  delete(key: string): Promise<boolean>
  close(): Promise<void>
}

const SPARE_LINES = 1000 // old lines that are not worth a rewrite
const { O_APPEND, O_CREAT, O_DSYNC, O_TRUNC, O_WRONLY } = constants
// A plugin's process may not call fsync (Node's permission model); with O_DSYNC each write returns when it is on disk. It
// takes the rename before it along: the file systems log both in the order in which they happened.
const DURABLE = O_WRONLY | O_CREAT | O_APPEND | O_DSYNC

export async function openStore(path: string): Promise<Store> {
  const values = new Map<string, Uint8Array>()
  const { lines, size } = await load(path, values)
  let file = await open(path, DURABLE, 0o600)
  await file.truncate(size)
  let lineCount = lines
  let goodSize = size
  let tail: Promise<unknown> = Promise.resolve()

  /** One change after the other; a failed write is cut off, so that nothing is joined to half a line. */
  const inTurn = <T>(change: () => Promise<T>): Promise<T> => {
    const mine = tail.then(change)
    tail = mine.catch(() => file.truncate(goodSize).catch(() => undefined))
    return mine
  }
  const append = async (key: string, value: Uint8Array | null) => {
    const line = Buffer.from(lineOf(key, value))
    await file.appendFile(line)
    goodSize += line.length
    lineCount++
  }
  const compact = async () => {
    if (lineCount < values.size * 2 + SPARE_LINES) return
    const temp = `${path}.new`
    const fresh: FileHandle = await open(temp, DURABLE | O_TRUNC, 0o600)
    try {
      await fresh.writeFile([...values].map(([key, value]) => lineOf(key, value)).join(''))
    } finally {
      await fresh.close()
    }
    await rename(temp, path)
    await file.close()
    file = await open(path, DURABLE, 0o600)
    goodSize = (await file.stat()).size
    lineCount = values.size
  }

  return {
    get: key => values.get(key),
    keys: prefix => [...values.keys()].filter(key => key.startsWith(prefix)).sort(),
    get size() {
      return values.size
    },
    set: (key, value) =>
      inTurn(async () => {
        await append(key, value)
        values.set(key, value)
        await compact()
      }),
    delete: key =>
      inTurn(async () => {
        if (!values.has(key)) return false
        await append(key, null)
        values.delete(key)
        await compact()
        return true
      }),
    close: async () => {
      await tail
      await file.close()
    },
  }
}

function lineOf(key: string, value: Uint8Array | null): string {
  return `${JSON.stringify({ key, value: value === null ? null : Buffer.from(value).toString('base64') })}\n`
}

/** Fills `values`; answers how many lines there are and where the last whole one ends. */
async function load(path: string, values: Map<string, Uint8Array>): Promise<{ lines: number; size: number }> {
  const bytes = await readFile(path).catch(error => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  })
  const size = bytes.lastIndexOf(10) + 1
  const lines = bytes.toString('utf8', 0, size).split('\n').slice(0, -1)
  for (const [index, line] of lines.entries()) {
    const change = parse(line)
    if (change === null)
      throw new Error(`${path}: line ${index + 1} is damaged; set the file aside to begin anew`)
    if (change.value === null) values.delete(change.key)
    else values.set(change.key, Buffer.from(change.value, 'base64'))
  }
  return { lines: lines.length, size }
}

function parse(line: string): { key: string; value: string | null } | null {
  try {
    const change: unknown = JSON.parse(line)
    if (typeof change !== 'object' || change === null || !('key' in change) || !('value' in change))
      return null
    const { key, value } = change
    return typeof key === 'string' && (typeof value === 'string' || value === null) ? { key, value } : null
  } catch {
    return null
  }
}
