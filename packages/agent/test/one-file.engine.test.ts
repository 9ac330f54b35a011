/** The one-file `agent` passes the tests of the command, and needs no more than itself. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arch, execPath } from 'node:process'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../../..')
const BINARY = join(ROOT, `dist/agent-linux-${arch}`)
const SMOKE = ['one-task-on-every-driver-and-wire', 'run-and-its-exit-codes', 'serve-over-stdio']
const SMOKE_MS = 300_000
const skip = existsSync(BINARY) ? false : 'absent: one-file agent (npm run build:binary)'

test('it passes the smoke tests of the command', { skip, timeout: SMOKE_MS }, () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const files = SMOKE.map(name => join(import.meta.dirname, `${name}.engine.test.ts`))
  const { status, stdout } = spawnSync(execPath, ['--conditions=beige-source', '--test', ...files], {
    env: { ...env, BEIGE_TEST_AGENT: BINARY },
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout)
  assert.match(stdout, /ℹ pass [1-9]/)
})

test('it starts from an empty home, twice, with an empty PATH, and lays its files out once', { skip }, () => {
  const home = mkdtempSync(join(tmpdir(), 'beige-one-file-'))
  try {
    const alone = join(home, 'a file with spaces')
    copyFileSync(BINARY, alone)
    for (let start = 0; start < 2; start += 1) assert.match(run(alone, { HOME: home }), /^\d+\.\d+\.\d+\n$/)
    assert.equal(readdirSync(join(home, '.cache/beige/agent')).length, 1)
  } finally {
    rmSync(home, { recursive: true })
  }
})

test('a home that can not be written costs it nothing but time, and nothing is left', { skip }, () => {
  const temporary = mkdtempSync(join(tmpdir(), 'beige-one-file-'))
  try {
    assert.match(run(BINARY, { HOME: '/dev/null', TMPDIR: temporary }), /^\d+\.\d+\.\d+\n$/)
    assert.deepEqual(readdirSync(temporary), [])
  } finally {
    rmSync(temporary, { recursive: true })
  }
})

function run(program: string, env: Readonly<Record<string, string>>): string {
  return execFileSync(program, ['--version'], { env: { PATH: '', ...env }, encoding: 'utf8' })
}
