import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLocks, createPipeline } from '@beige/harness'
import { type CallOrigin, newCallId, systemClock, systemRandom } from '@beige/protocol'
import { createCallBook } from '../agents/call-book.ts'
import { openAuditLog } from '../audit/audit-log.ts'
import { createRedactor } from '../audit/redactor.ts'
import { createAgentPolicy } from '../policy/agent-policy.ts'
import { createCallTokens } from './call-tokens.ts'
import { done, tool } from './socket.fixture.ts'

const ORIGINS: readonly CallOrigin[] = ['model', 'subagent', 'launcher', 'http', 'plugin', 'app', 'user']

test('every origin and every decision gives one audit story, and nothing runs before its start is on disk', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'beige-pipeline-')), 'audit.jsonl')
  const log = await openAuditLog({ path, maxSizeBytes: 1_000_000, clock: systemClock })
  const records = (): Record<string, unknown>[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
  const tokens = createCallTokens(randomBytes(32))
  const book = createCallBook({ agent: 'scout', tokens, log, redact: createRedactor([]), args: 'redacted' })
  let ran = 0
  const spy = tool('kv', async () => {
    ran++
    assert.equal(records().at(-1)?.phase, 'start', 'the start is on disk')
    return done(0)
  })
  const pipeline = createPipeline({
    tools: [spy, tool('git', async () => assert.fail('it is denied'))],
    policy: createAgentPolicy({ name: 'scout', tools: ['kv'] }),
    audit: book.audit,
    clock: systemClock,
    locks: createLocks(),
  })
  const context = {
    sessionId: null,
    hands: { id: 'none', open: () => Promise.reject(new DOMException('none', 'NotSupportedError')) },
    cwd: '/workspace',
    signal: new AbortController().signal,
    env: {},
    seenFiles: new Map(),
    journal: null,
    progress: () => undefined,
  }
  for (const origin of ORIGINS) {
    const before = records().length
    const call = (name: string) =>
      pipeline.runCall(
        { callId: newCallId(systemClock, systemRandom), name, input: { args: ['x'] }, origin },
        context,
      )
    assert.equal((await call('kv')).isError, false)
    assert.equal((await call('git')).details.code, 'denied')
    const story = records()
      .slice(before)
      .map(({ phase, tool, decision, by, outcome, origin }) => [phase, tool, decision, by, outcome, origin])
    assert.deepEqual(story, [
      ['start', 'kv', 'allowed', undefined, undefined, origin],
      ['end', 'kv', 'allowed', 'policy', 'done', origin],
      ['end', 'git', 'denied', 'policy', undefined, origin],
    ])
  }
  assert.equal(ran, ORIGINS.length)
  await log.close()
})
