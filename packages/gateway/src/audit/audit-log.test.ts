import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AuditBody, systemClock } from '@beige/protocol'
import { type AuditLog, openAuditLog } from './audit-log.ts'
import { auditFiles, headPath, verifyAudit } from './verify.ts'

const body = (n: number): AuditBody => ({
  phase: 'note',
  id: `n${n}`,
  agent: 'scout',
  type: 'gateway',
  event: 'test',
  details: { text: 'line\nbreak \u001b[31m "quote"' },
})

function place(): string {
  return join(mkdtempSync(join(tmpdir(), 'beige-audit-')), 'audit.jsonl')
}
const openAt = (path: string, maxSizeBytes = 1_048_576) =>
  openAuditLog({ path, maxSizeBytes, clock: systemClock })

async function written(path: string, count: number, maxSizeBytes?: number): Promise<void> {
  const log = await openAt(path, maxSizeBytes)
  for (let n = 0; n < count; n++) await log.append(body(n))
  await log.close()
}
const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)
const verdictOf = (path: string) => verifyAudit(path)

test('lines are chained, numbered without a gap and one physical line each', async () => {
  const path = place()
  await written(path, 5)
  const verdict = verdictOf(path)
  assert.ok(verdict.ok)
  assert.equal(verdict.lines, 5)
  const records = linesOf(path).map(line => JSON.parse(line))
  assert.deepEqual(
    records.map(record => record.seq),
    [1, 2, 3, 4, 5],
  )
  assert.equal(records[0].prev, '0'.repeat(32))
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('lines that wait share one sync and keep their order', async () => {
  const path = place()
  const log = await openAt(path)
  await Promise.all(Array.from({ length: 200 }, (_, n) => log.append(body(n))))
  await log.close()
  assert.deepEqual(
    linesOf(path).map(line => JSON.parse(line).id),
    Array.from({ length: 200 }, (_, n) => `n${n}`),
  )
})

test('a later start goes on with the same chain', async () => {
  const path = place()
  await written(path, 3)
  await written(path, 3)
  const verdict = verdictOf(path)
  assert.ok(verdict.ok)
  assert.equal(verdict.lines, 6)
})

test('a full file is rotated and the chain goes through', async () => {
  const path = place()
  await written(path, 40, 1000)
  const verdict = verdictOf(path)
  assert.ok(verdict.ok, JSON.stringify(verdict))
  assert.ok(verdict.files > 5)
  await written(path, 3, 1000)
  assert.ok(verdictOf(path).ok)
})

const EDITS: readonly [name: string, edit: (lines: string[]) => string[]][] = [
  ['one byte is changed', lines => lines.with(2, (lines[2] ?? '').replace('scout', 'scour'))],
  ['a line is dropped', lines => lines.toSpliced(2, 1)],
  ['two lines are swapped', lines => [lines[0], lines[2], lines[1], ...lines.slice(3)].map(String)],
  ['a line is doubled', lines => lines.toSpliced(2, 0, lines[2] ?? '')],
  ['a line is put in', lines => lines.toSpliced(2, 0, '{"seq":3,"prev":"x"}')],
  ['the last line is changed', lines => lines.with(-1, (lines.at(-1) ?? '').replace('scout', 'scour'))],
  ['the tail is cut', lines => lines.slice(0, 4)],
  ['everything is cut', () => []],
]
for (const [name, edit] of EDITS)
  test(`verify finds that ${name}, and a start refuses it`, async () => {
    const path = place()
    await written(path, 6)
    const lines = edit(linesOf(path))
    writeFileSync(path, lines.map(line => `${line}\n`).join(''))
    assert.equal(verdictOf(path).ok, false)
    await assert.rejects(openAt(path), { code: 'audit_broken' })
  })

test('verify finds a rotated file that is gone, and one that was renamed', async () => {
  const path = place()
  await written(path, 40, 1000)
  const second = auditFiles(path)[1] ?? ''
  renameSync(second, `${second}.away`)
  assert.equal(verdictOf(path).ok, false)
  renameSync(`${second}.away`, second)
  assert.ok(verdictOf(path).ok)
  rmSync(auditFiles(path)[0] ?? '')
  assert.equal(verdictOf(path).ok, false)
})

test('verify finds that head and tail were cut together, by the anchor', async () => {
  const path = place()
  await written(path, 6)
  const anchor = verdictOf(path)
  assert.ok(anchor.ok)
  const lines = linesOf(path).slice(0, 3)
  writeFileSync(path, lines.map(line => `${line}\n`).join(''))
  rmSync(headPath(path))
  assert.equal(verdictOf(path).ok, false, 'a missing head is no excuse')
  const forged = place()
  await written(forged, 3)
  assert.ok(verdictOf(forged).ok)
  assert.equal(verifyAudit(forged, anchor.head).ok, false)
})

test('a tail torn at any byte is set aside, said, and the chain goes on', async () => {
  const path = place()
  await written(path, 3)
  const whole = statSync(path).size
  const torn = `{"seq":4,"prev":"${'a'.repeat(32)}","ts":"2026`
  for (let cut = 1; cut <= torn.length; cut += 7) {
    writeFileSync(path, torn.slice(0, cut), { flag: 'a' })
    const log = await openAt(path)
    assert.equal(log.recovered, cut)
    await log.close()
    const verdict = verdictOf(path)
    assert.ok(verdict.ok)
    assert.match(linesOf(path).at(-1) ?? '', /"event":"recovered"/)
  }
  assert.ok(statSync(path).size > whole)
})

test('a last line that was acknowledged and is torn now is a cut, not a crash', async () => {
  const path = place()
  await written(path, 3)
  truncateSync(path, statSync(path).size - 5)
  assert.equal(verdictOf(path).ok, false)
})

test('a failed write is not acknowledged, leaves nothing behind, and the next one works', async () => {
  const path = place()
  const log: AuditLog = await openAt(path)
  await log.append(body(1))
  const circular: { self?: unknown } = {}
  circular.self = circular
  await assert.rejects(log.append({ ...body(2), details: circular } as AuditBody), { code: 'audit_write' })
  await log.append(body(3))
  await log.close()
  const verdict = verdictOf(path)
  assert.ok(verdict.ok)
  assert.equal(verdict.lines, 2)
})
