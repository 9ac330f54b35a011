import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { chooseDriver, findExecd } from '@beige/sandbox'
import { testHome } from './home.ts'

const why = await chooseDriver({ kind: 'auto' }, AbortSignal.timeout(30_000)).then(
  () => executable(),
  () => 'absent: docker and bubblewrap',
)

function executable(): string | false {
  try {
    findExecd()
    return false
  } catch {
    return 'absent: execd'
  }
}

test('doctor opens a sandbox and says what it saw from inside', { skip: why }, async () => {
  const home = testHome()
  const ran = await home.beige('doctor')
  assert.equal(ran.code, 0, ran.out + ran.err)
  for (const line of [
    /✓ node/,
    /✓ execd/,
    /✓ sandbox +.*uid [1-9]/,
    /✓ egress +closed, seen from inside/,
    /✓ config/,
  ])
    assert.match(ran.out, line)
})

test('doctor names what is wrong with a home, what to do, and exits 1', { skip: why }, async () => {
  const home = testHome({ gateway: { prot: 1 } })
  const ran = await home.beige('doctor')
  assert.equal(ran.code, 1)
  assert.match(ran.out, /✗ config .*1 error.*beige config check/)

  const data = await home.beige('doctor', '--json')
  const parsed: unknown = JSON.parse(data.out)
  assert.ok(typeof parsed === 'object' && parsed !== null && 'ok' in parsed && parsed.ok === false)
})

const notRoot = process.geteuid?.() === 0 ? false : 'absent: root'
test('a workspace that root owns is named with its chown', { skip: why || notRoot }, async () => {
  const home = testHome()
  mkdirSync(home.layout.agent('scout').workspace, { recursive: true })
  writeFileSync(join(home.layout.agent('scout').workspace, 'x'), '')
  const ran = await home.beige('doctor')
  assert.equal(ran.code, 1)
  assert.match(ran.out, /✗ workspace +scout: .* is owned by root.*chown -R/)
})
