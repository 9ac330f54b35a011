import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkInput } from '../tool-input.ts'
import { toolset } from './index.ts'

test('H34 a number that nobody checked is a command', () => {
  const naive = (offset: unknown) => `tail -n +${offset} file`
  assert.equal(naive('1; rm -rf /'), 'tail -n +1; rm -rf / file')
})

test('H34 numbers out of range and unknown keys never reach a tool', async () => {
  const bad: [tool: string, input: object][] = [
    ['read', { path: 'a', offset: 0 }],
    ['read', { path: 'a', limit: 2001 }],
    ['read', { path: 'a', offset: 1.5 }],
    ['read', { path: 'a', encoding: 'x' }],
    ['bash', { command: 'a', timeout_ms: 2_147_483_648 }],
    ['bash', { command: 'a', timeout_ms: '1; rm -rf /' }],
    ['exec', { command: 'a', timeout: 2_147_484 }],
    ['exec', { args: [] }],
    ['edit', { path: 'a', edits: [] }],
    ['patch', { path: 'a', edits: Array.from({ length: 65 }, () => ({ oldText: 'a', newText: 'b' })) }],
    ['write', { path: 'a' }],
    ['ls', { limit: 5001 }],
    ['grep', { pattern: 'a', limit: 0 }],
    ['grep', { pattern: 'a', context: '1; rm -rf /' }],
    ['grep', { pattern: 'a', before: 101 }],
    ['find', { pattern: 'a', limit: 1.5 }],
  ]
  const tools = new Map([...toolset('coding'), ...toolset('core')].map(tool => [tool.name, tool]))
  for (const [name, input] of bad) {
    const tool = tools.get(name)
    assert.ok(tool)
    // Directly: the pipeline's coercion may mend a number, what is left is refused by the tool itself.
    const refused = await tool.run(input, untouchable())
    assert.equal(refused.details.code, 'invalid_input', JSON.stringify(input))
  }
  const read = tools.get('read')
  assert.ok(read)
  assert.equal(checkInput(read, { path: 'a', offset: 0 }).ok, false)
})

/** A context that nothing may touch. */
function untouchable(): never {
  return new Proxy({}, { get: (_, key) => assert.fail(`touched ${String(key)}`) }) as never
}
