/** Replicas that are killed, stopped, cut off and filled up: 60 s of it on each store, and nothing told is lost. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { findExecd } from '@beige/sandbox'
import { postgresMissing } from '@beige/test-support'
import { lastLine, troublesLine } from './report.ts'
import { tortureSessions } from './run-sessions.ts'

const SECONDS = Number(process.env.TORTURE_SECONDS ?? 60)
const SEED = Number(process.env.TORTURE_SEED ?? 20_261)
const MIN_TURNS = 20 // fewer: it did nothing

for (const store of ['files', 'postgres'] as const) {
  const skip = execdMissing() || (store === 'postgres' && postgresMissing())
  test(`${SECONDS} s of torture on ${store}`, { skip, timeout: (SECONDS + 240) * 1000 }, async t => {
    const said: string[] = []
    const result = await tortureSessions({
      repository: join(import.meta.dirname, '../../..'),
      ...{ seed: SEED, seconds: SECONDS, store, signal: t.signal },
      say: text => void said.push(text),
    })
    t.diagnostic(troublesLine(result))
    t.diagnostic(lastLine(result))
    assert.deepEqual([...result.violations, ...result.unexpected], [], said.join('\n'))
    assert.ok(result.turns >= MIN_TURNS, `${result.turns} turns\n${said.join('\n')}`)
  })
}

function execdMissing(): string | false {
  try {
    findExecd()
    return false
  } catch {
    return 'absent: execd'
  }
}
