import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, textOf, withTools } from '../../test/tool-bench.ts'
import { toolset } from './index.ts'

test('H40 read and write are one tool in both sets', () => {
  const shared = (set: 'coding' | 'core') =>
    toolset(set)
      .filter(tool => tool.name === 'read' || tool.name === 'write')
      .map(({ description, inputSchema, mode, idempotent }) => ({
        description,
        inputSchema,
        mode,
        idempotent,
      }))
  assert.deepEqual(shared('coding'), shared('core'))
})

test('H40 edit and patch differ in nothing but names', { skip: execdMissing() }, () =>
  withTools('files API', async ({ root, call }) => {
    const before = '“a”\r\nb $& b\r\n'
    const cases = [
      ['"a"', '$&', false],
      ['b', 'c', true],
      ['b', 'c', false],
      ['', 'c', false],
      ['q', 'c', false],
    ] as const
    for (const [oldText, newText, replaceAll] of cases) {
      const results = []
      for (const [name, input] of [
        ['edit', { old_string: oldText, new_string: newText, replace_all: replaceAll }],
        ['patch', { oldText, newText, replaceAll }],
      ] as const) {
        writeFileSync(join(root, 'f'), before)
        const result = await call(name, { path: 'f', ...input })
        const words = textOf(result)
          .replaceAll('old_string', 'oldText')
          .replaceAll('replace_all', 'replaceAll')
        results.push({ words, code: codeOf(result), file: readFileSync(join(root, 'f'), 'utf8') })
      }
      assert.deepEqual(results[0], results[1])
    }
  }),
)

test('H40 bash and exec differ in nothing but names', { skip: execdMissing() }, () =>
  withTools('files API', async ({ call }) => {
    const commands = [
      'echo out; exit 3',
      'kill -9 $$',
      'true',
      'seq 5000',
      'echo $TERM $0',
      'sleep 1000',
      "printf 'a\\rb'",
    ]
    for (const command of commands) {
      const bash = await call('bash', { command, timeout_ms: 1000 })
      const exec = await call('exec', { command, timeout: 1 })
      assert.deepEqual(exec, bash, command)
    }
  }),
)
