/** H68: a launcher starts no language runtime: one static file, which loads nothing else and stays small. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import { BINARY, skip } from './execd.ts'
import { FRAME, startGateway } from './fake-gateway.ts'

const PT_INTERP = 3
const MAX_BYTES = 1_750_000 // 0.8 MB with musl; a Rust that has glibc alone gives 1.64 MB

test('the file is static and small', { skip }, () => {
  const file = readFileSync(BINARY)
  const [at, size, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)]
  const kinds = Array.from({ length: count }, (_, index) => file.readUInt32LE(at + index * size))
  assert.ok(!kinds.includes(PT_INTERP))
  assert.ok(statSync(BINARY).size <= MAX_BYTES, `${statSync(BINARY).size} bytes`)
})

test('a round trip, measured', { skip }, async t => {
  const gateway = await startGateway(t, ({ send }) => {
    send(FRAME.stdout, 'ok')
    send(FRAME.exit, { exit_code: 0, signal: null, timed_out: false, truncated: false })
  })
  const times = []
  for (let round = 0; round < 50; round++) {
    const sinceMs = performance.now()
    const { child, ended } = gateway.start('git')
    child.stdin.end()
    assert.equal((await ended).stdout.toString(), 'ok')
    times.push(performance.now() - sinceMs)
  }
  // Said and not asserted: a busy machine is no defect.
  t.diagnostic(`p50 ${times.sort((a, b) => a - b)[25]?.toFixed(2)} ms, spawn from Node included`)
})
