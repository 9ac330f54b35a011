import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, FILE_ROUTES, textOf, withTools } from '../../test/tool-bench.ts'

for (const route of FILE_ROUTES) {
  const options = { skip: execdMissing() }

  test(`ls over ${route}: directories first, links with their target, dots when asked`, options, () =>
    withTools(route, async ({ root, call }) => {
      assert.equal(textOf(await call('ls', {})), '[empty directory]')
      writeFileSync(join(root, '.env'), '')
      assert.equal(textOf(await call('ls', {})), '[only names with a dot: 1; all shows them]')
      for (const name of ['b.txt', 'a\nb', 'é']) writeFileSync(join(root, name), '')
      mkdirSync(join(root, 'z'))
      symlinkSync('z', join(root, 'link'))
      assert.equal(textOf(await call('ls', {})), 'z/\na␊b\nb.txt\nlink -> z\né')
      assert.equal(textOf(await call('ls', { all: true, limit: 2 })), 'z/\n.env\n[2 of 6]')
      assert.equal(textOf(await call('ls', { path: 'link' })), '[empty directory]')
    }),
  )

  test(`ls, find and grep over ${route}: every failure says what is there instead`, options, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'file'), 'text\n')
      execFileSync('mkfifo', [join(root, 'pipe')])
      const rows: [tool: string, input: object, code: string, text: string][] = [
        ['ls', { path: 'file' }, 'wrong_kind', `${root}/file is a file, not a directory: use read`],
        [
          'find',
          { pattern: 'a', path: 'file' },
          'wrong_kind',
          `${root}/file is a file, not a directory: use read`,
        ],
        ['ls', { path: 'pipe' }, 'wrong_kind', `${root}/pipe is a fifo, not a directory: it was not opened`],
        [
          'grep',
          { pattern: 'a', path: 'pipe' },
          'wrong_kind',
          `${root}/pipe is a fifo, neither a file nor a directory: it was not opened`,
        ],
        ['ls', { path: 'fil' }, 'not_found', `no such file: ${root}/fil; near it: ${root}/file`],
        [
          'grep',
          { pattern: 'a', path: 'fil' },
          'not_found',
          `no such file: ${root}/fil; near it: ${root}/file`,
        ],
        [
          'find',
          { pattern: 'a', path: 'fil' },
          'not_found',
          `no such file: ${root}/fil; near it: ${root}/file`,
        ],
        [
          'find',
          { pattern: '[a' },
          'invalid_input',
          'not a glob: "[a". Brackets and braces must end, a backslash needs a character behind it',
        ],
        [
          'grep',
          { pattern: '(a' },
          'invalid_input',
          'bad pattern: unclosed group. Mend it, or set literal to search for it as a text',
        ],
        [
          'grep',
          { pattern: 'a\nb' },
          'invalid_input',
          'pattern has a line break: lines are searched one by one',
        ],
        ['grep', { pattern: 'a\0' }, 'invalid_input', 'pattern has a zero byte'],
      ]
      for (const [tool, input, code, text] of rows) {
        const result = await call(tool, input)
        assert.equal(codeOf(result), code, text)
        assert.equal(textOf(result), text)
      }
      assert.equal(textOf(await call('grep', { pattern: 'nothing' })), 'no matches')
      assert.equal(textOf(await call('grep', { pattern: '(t', literal: true })), 'no matches')
      assert.equal(textOf(await call('find', { pattern: 'nothing' })), 'no matches')
    }),
  )

  test(`grep over ${route}: stops at its bounds and says so`, options, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'many'), 'row\n'.repeat(12_000))
      assert.equal(
        textOf(await call('grep', { pattern: 'row', limit: 1 })),
        'many:1: row\n[1 match shown, at least 9,999 more: narrow the pattern or raise limit]',
      )
      const most = textOf(await call('grep', { pattern: 'row', limit: 10_000 }))
      assert.match(most, /\n\[1,998 matches shown, at least 8,002 more: narrow the pattern or the path\]$/)
      writeFileSync(join(root, 'long'), `${'x'.repeat(3_000_000)}end`)
      assert.equal(textOf(await call('grep', { pattern: 'end' })), `long:1: ${'x'.repeat(500)}…`)
    }),
  )

  test(`find over ${route}: names, paths, case, ignored`, options, () =>
    withTools(route, async ({ root, call }) => {
      mkdirSync(join(root, 'src/deep'), { recursive: true })
      mkdirSync(join(root, 'node_modules/x'), { recursive: true })
      mkdirSync(join(root, '.git'))
      writeFileSync(join(root, '.gitignore'), 'node_modules\n')
      for (const name of ['src/a.ts', 'src/deep/B.TS', 'node_modules/x/c.ts', '.git/d.ts']) {
        writeFileSync(join(root, name), '')
      }
      assert.equal(textOf(await call('find', { pattern: '*.ts' })), 'src/a.ts\nsrc/deep/B.TS')
      assert.equal(textOf(await call('find', { pattern: '*.TS' })), 'src/deep/B.TS')
      assert.equal(textOf(await call('find', { pattern: 'src/*' })), 'src/a.ts\nsrc/deep/')
      assert.equal(textOf(await call('find', { pattern: 'deep/**', path: 'src' })), 'deep/B.TS')
      assert.equal(
        textOf(await call('find', { pattern: '*', limit: 1 })),
        '.gitignore\n[1 match shown, at least 4 more: narrow the pattern or raise limit]',
      )
    }),
  )
}
