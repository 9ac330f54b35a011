/**
 * The writer of the audit log: one JSON line a fact, chained, durable before it is acknowledged. Lines that wait share
 * one sync. After a failed write the file is cut back to its last good line, so nothing is ever joined to half a line.
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type AuditBody, type Clock, messageOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import { syncFolder } from '../home/json-file.ts'
import { type ChainHead, encodeHead, hashOfLine, lineOf } from './line.ts'
import { headPath, verifyAudit } from './verify.ts'

export interface AuditLog {
  /** Resolves when the line is on disk; rejects with `audit_write`, and then it is not there at all. */
  append(body: AuditBody): Promise<void>
  /** Lines written since the log was opened. */
  readonly written: number
  readonly head: ChainHead
  close(): Promise<void>
}

type Waiting = { body: AuditBody; done: () => void; failed: (error: unknown) => void }

/** Bodies arrive redacted and bounded. Throws `audit_broken` where the chain that is there does not hold. */
export async function openAuditLog(options: {
  path: string
  maxSizeBytes: number
  clock: Clock
}): Promise<AuditLog & { recovered: number }> {
  const { path, maxSizeBytes, clock } = options
  const verdict = verifyAudit(path)
  const recovered = repairTail(path, verdict)
  if (!verdict.ok) throw fail('audit_broken', verdict)

  const headFile = await open(headPath(path), existsSync(headPath(path)) ? 'r+' : 'w+', 0o600)
  let head = verdict.head
  if (verdict.lines === 0) await writeHead(headFile, head)
  let file = await open(path, 'a', 0o600)
  syncFolder(dirname(path))
  let size = (await file.stat()).size
  let firstSeq = firstSeqOf(path, head)
  let written = 0
  let isDirty = false // a failed write may have left bytes behind `size`
  let waiting: Waiting[] = []
  let working: Promise<void> | null = null

  const writeBatch = async (batch: readonly Waiting[]): Promise<void> => {
    if (isDirty) {
      await file.truncate(size)
      isDirty = false
    }
    let next = head
    let text = ''
    for (const { body } of batch) {
      const line = lineOf(next.seq + 1, next.hash, new Date(clock.now()).toISOString(), body)
      text += `${line}\n`
      next = { seq: next.seq + 1, hash: hashOfLine(line) }
    }
    const bytes = Buffer.from(text)
    isDirty = true
    for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten
    await file.datasync()
    isDirty = false
    size += bytes.length
    head = next
    written += batch.length
    // After the sync and not itself synced: a crash leaves it behind the lines, never ahead of them.
    await writeHead(headFile, head)
  }

  const rotate = async (): Promise<void> => {
    const end: AuditBody = {
      phase: 'note',
      id: `segment-${firstSeq}`,
      agent: '',
      type: 'gateway',
      event: 'segment_end',
    }
    await writeBatch([{ body: end, done: () => undefined, failed: () => undefined }])
    await file.close()
    renameSync(path, join(dirname(path), `audit-${String(firstSeq).padStart(12, '0')}.jsonl`))
    file = await open(path, 'a', 0o600)
    syncFolder(dirname(path))
    size = 0
    firstSeq = head.seq + 1
  }

  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        if (size >= maxSizeBytes) await rotate()
        await writeBatch(batch)
        for (const one of batch) one.done()
      } catch (error) {
        for (const one of batch) one.failed(fail('audit_write', { reason: messageOf(error) }, error))
      }
    }
    working = null
  }

  const log: AuditLog & { recovered: number } = {
    recovered,
    append: body =>
      new Promise((done, failed) => {
        waiting.push({ body, done, failed })
        working ??= work()
      }),
    get written() {
      return written
    },
    get head() {
      return head
    },
    async close() {
      await working
      await headFile.datasync()
      await headFile.close()
      await file.close()
    },
  }
  if (recovered > 0)
    await log.append({
      phase: 'note',
      id: `recovered-${head.seq}`,
      agent: '',
      type: 'gateway',
      event: 'recovered',
      details: { bytes: recovered, file: 'audit.quarantine' },
    })
  return log
}

/** Moves the bytes behind the last newline to `audit.quarantine`; they were never acknowledged. */
function repairTail(path: string, verdict: ReturnType<typeof verifyAudit>): number {
  if (!verdict.ok || verdict.tornBytes === 0) return 0
  const size = statSync(path).size
  const torn = Buffer.alloc(verdict.tornBytes)
  const file = openSync(path, 'r')
  try {
    readSync(file, torn, 0, torn.length, size - torn.length)
  } finally {
    closeSync(file)
  }
  appendFileSync(join(dirname(path), 'audit.quarantine'), Buffer.concat([torn, Buffer.from('\n')]), {
    mode: 0o600,
  })
  truncateSync(path, size - torn.length)
  return torn.length
}

function firstSeqOf(path: string, head: ChainHead): number {
  const file = openSync(path, 'r')
  try {
    const start = Buffer.alloc(64)
    const count = readSync(file, start, 0, start.length, 0)
    return Number(/^\{"seq":(\d+),/.exec(start.toString('latin1', 0, count))?.[1] ?? head.seq + 1)
  } finally {
    closeSync(file)
  }
}

async function writeHead(file: FileHandle, head: ChainHead): Promise<void> {
  await file.write(encodeHead(head), 0, undefined, 0)
}
