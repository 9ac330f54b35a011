import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'

test('the launcher starts the program beside it, with its arguments, and caches code for its owner alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'beige-launcher-'))
  try {
    copyFileSync(join(import.meta.dirname, 'launcher.js'), join(folder, 'main.js'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'program.js'), "console.log(process.argv[2]); await import('./part.js')")
    writeFileSync(join(folder, 'part.js'), 'process.exitCode = 3')
    // What the test run sets would be taken before the launcher's own.
    const { NODE_COMPILE_CACHE: _, ...inherited } = process.env
    const env = { ...inherited, XDG_CACHE_HOME: join(folder, 'cache') }
    const { stdout, status } = spawnSync(process.execPath, [join(folder, 'main.js'), 'a b'], {
      env,
      encoding: 'utf8',
    })
    assert.deepEqual([stdout, status], ['a b\n', 3])
    const cache = join(folder, 'cache/beige/code')
    assert.equal(statSync(cache).mode & 0o777, 0o700)
    assert.ok(readdirSync(cache, { recursive: true }).length > 0)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
