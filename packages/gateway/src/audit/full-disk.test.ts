import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '@beige/protocol'
import { openAuditLog } from './audit-log.ts'
import { verifyAudit } from './verify.ts'

// RLIMIT_FSIZE stands for a full disk: node ignores SIGXFSZ, so a write behind the limit fails in the middle of a line.
const SCRIPT = `
import { systemClock } from '@beige/protocol'
const { openAuditLog } = await import(process.argv[1])
const log = await openAuditLog({ path: process.argv[2], maxSizeBytes: 1048576, clock: systemClock })
let acknowledged = 0, refused = 0
for (let n = 0; n < 60; n++) {
  const body = { phase: 'note', id: 'n' + n, agent: 'a', type: 'gateway', event: 'x'.repeat(100) }
  await log.append(body).then(() => acknowledged++, error => { if (error.code === 'audit_write') refused++ })
}
console.log(JSON.stringify({ acknowledged, refused }))
`

test('a full disk refuses lines, never leaves half of one, and goes on when there is room', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'beige-full-')), 'audit.jsonl')
  const module = new URL('./audit-log.ts', import.meta.url).href
  const node = [process.execPath, ...process.execArgv.filter(arg => arg.startsWith('--conditions'))]
  const child = spawnSync(
    'sh',
    ['-c', 'ulimit -f 8; exec "$@"', 'sh', ...node, '--input-type=module', '-e', SCRIPT, module, path],
    { encoding: 'utf8', cwd: import.meta.dirname },
  )
  const told: unknown = JSON.parse(child.stdout)
  assert.ok(
    typeof told === 'object' && told !== null && 'acknowledged' in told && 'refused' in told,
    child.stderr,
  )
  assert.ok(Number(told.refused) > 0)
  assert.equal(Number(told.acknowledged) + Number(told.refused), 60)

  const verdict = verifyAudit(path)
  assert.ok(verdict.ok, JSON.stringify(verdict))
  assert.equal(verdict.lines, told.acknowledged)
  const log = await openAuditLog({ path, maxSizeBytes: 1_048_576, clock: systemClock })
  assert.ok(log.recovered >= 0)
  await log.append({ phase: 'note', id: 'later', agent: 'a', type: 'gateway', event: 'room again' })
  await log.close()
  assert.ok(verifyAudit(path).ok)
})
