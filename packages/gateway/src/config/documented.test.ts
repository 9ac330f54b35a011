import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadText } from './load.ts'
import { surroundings } from './surroundings.fixture.ts'

test('the configuration that docs/gateway.md shows is a good one', async () => {
  const page = readFileSync(new URL('../../../../docs/gateway.md', import.meta.url), 'utf8')
  const shown = /```json5\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const loaded = await loadText(shown, '/etc/b/config.json5', surroundings({ ANTHROPIC_API_KEY: 'k-123' }))
  assert.ok(loaded.ok, loaded.ok ? '' : loaded.lines.join('\n'))
})
