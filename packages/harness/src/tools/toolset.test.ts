import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolset } from './index.ts'

const bytesOf = (name: 'coding' | 'core') =>
  JSON.stringify(
    toolset(name).map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  )

test('toolset: names are sorted, schemas and descriptions the same bytes each time', () => {
  assert.deepEqual(
    toolset('coding').map(tool => tool.name),
    ['bash', 'bash_job', 'edit', 'find', 'grep', 'ls', 'read', 'write'],
  )
  assert.deepEqual(
    toolset('core').map(tool => tool.name),
    ['exec', 'patch', 'read', 'write'],
  )
  assert.equal(bytesOf('coding'), bytesOf('coding'))
  assert.equal(bytesOf('core'), bytesOf('core'))
})
