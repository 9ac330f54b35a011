import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, FILE_ROUTES, textOf, withTools } from '../../test/tool-bench.ts'

const NAMES = ['-n', '-rf', '--help', '--', '-', '-e1,$d']

test('H33 a bare path that begins with a dash is an option', () => {
  assert.match(execFileSync('cat', ['--help']).toString(), /Usage/i)
})

for (const route of FILE_ROUTES) {
  test(`H33 every tool over ${route} takes a name with a dash for a name`, { skip: execdMissing() }, () =>
    withTools(route, async ({ root, call }) => {
      for (const name of NAMES) {
        const path = join(root, name)
        assert.match(textOf(await call('write', { path: name, content: 'one\n' })), /created\)$/)
        assert.equal(textOf(await call('read', { path: name })), '     1\tone')
        assert.equal(codeOf(await call('edit', { path: name, old_string: 'one', new_string: 'two' })), null)
        assert.equal(codeOf(await call('patch', { path: name, oldText: 'two', newText: 'three' })), null)
        assert.equal(readFileSync(path, 'utf8'), 'three\n')
        assert.equal(textOf(await call('grep', { pattern: 'three', path: name })), `${name}:1: three`)
        writeFileSync(path, `${name} is here`)
        assert.equal(
          textOf(await call('grep', { pattern: name, path: name, literal: true })),
          `${name}:1: ${name} is here`,
        )
        assert.equal(textOf(await call('find', { pattern: name })), name)
        mkdirSync(`${path} dir`)
        writeFileSync(join(`${path} dir`, name), name)
        assert.equal(textOf(await call('ls', { path: `${name} dir` })), name)
        const inside = await call('grep', { pattern: name, path: `${name} dir`, literal: true, glob: '*' })
        assert.equal(textOf(inside), `${name}:1: ${name}`)
        assert.equal(textOf(await call('find', { pattern: '*', path: `${name} dir` })), name)
        assert.equal(textOf(await call('bash', { command: 'pwd', cwd: `${name} dir` })), `${path} dir`)
        assert.equal(textOf(await call('exec', { args: ['printf', '%s', name] })), name)
      }
      writeFileSync(join(root, '-n'), 'line\n'.repeat(2_000_000)) // large enough to be cut by a command
      assert.match(
        textOf(await call('read', { path: '-n', offset: 1_999_999 })),
        /^1999999\tline\n2000000\tline$/,
      )
    }),
  )
}
