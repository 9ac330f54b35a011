import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from './load.ts'
import { surroundings } from './surroundings.fixture.ts'

test('a configuration that others may read is refused, with its other mistakes', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'beige-config-')), 'config.json5')
  writeFileSync(file, '{ nonsense: 1 }', { mode: 0o644 })
  const loaded = await loadConfig(file, surroundings())
  assert.ok(!loaded.ok)
  assert.match(loaded.lines.join('\n'), /has mode 0644, others may read it/)
  assert.match(loaded.lines.join('\n'), /nonsense +unknown key/)
})
