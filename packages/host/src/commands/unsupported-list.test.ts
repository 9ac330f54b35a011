import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { UNSUPPORTED } from './table.ts'

test('the README names every command that nothing provides yet, and no other', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const list = readme.slice(
    readme.indexOf('answer `unsupported`'),
    readme.indexOf('Of a command that is there'),
  )
  const named = UNSUPPORTED.filter(type => !type.startsWith('mcp_events_'))
  const listed = [...list.matchAll(/`([a-z_]+)`/g)]
    .map(match => match[1])
    .filter(name => name !== 'unsupported')
  assert.deepEqual([...listed].sort(), [...named].sort())
})
