import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, FILE_ROUTES, textOf, withTools } from '../../test/tool-bench.ts'

for (const route of FILE_ROUTES) {
  const options = { skip: execdMissing() }

  test(`read over ${route}: lines with numbers, windows, ends`, options, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'a.txt'), 'one\ntwo\r\n\tthree')
      assert.equal(textOf(await call('read', { path: 'a.txt' })), '     1\tone\n     2\ttwo\n     3\t\tthree')
      assert.equal(
        textOf(await call('read', { path: join(root, 'a.txt'), offset: 2, limit: 1 })),
        '     2\ttwo\n[lines 2-2 of 3; continue with offset=3]',
      )
      assert.equal(textOf(await call('read', { path: '@a.txt', offset: 3 })), '     3\t\tthree')
      const behind = await call('read', { path: 'a.txt', offset: 4 })
      assert.equal(codeOf(behind), 'invalid_input')
      assert.equal(textOf(behind), `offset 4 is behind the end: ${root}/a.txt has 3 lines`)
      writeFileSync(join(root, 'empty'), '')
      assert.equal(textOf(await call('read', { path: 'empty' })), '[empty file]')
      assert.match(textOf(await call('read', { path: '/proc/version' })), /^ {5}1\tLinux version /)
      const many = Array.from({ length: 5000 }, (_, index) => index + 1)
      writeFileSync(join(root, 'many'), `${many.join('\n')}\n`)
      const shown = textOf(await call('read', { path: 'many' })).split('\n')
      assert.equal(shown.length, 2001)
      assert.equal(shown.at(-1), '[lines 1-2000 of 5000; continue with offset=2001]')
      writeFileSync(join(root, 'exactly'), many.slice(0, 2000).join('\n'))
      assert.ok(textOf(await call('read', { path: 'exactly' })).endsWith('  2000\t2000'))
    }),
  )

  test(`read over ${route}: odd names are names`, options, () =>
    withTools(route, async ({ root, call }) => {
      for (const name of ['-n', '--', "it's", 'a b', '$(touch x)', 'new\nline', '日本', 'a"b', '*']) {
        writeFileSync(join(root, name), name)
        assert.equal(textOf(await call('read', { path: name })).includes('\t'), true, name)
      }
      writeFileSync(join(root, 'no break'), 'x')
      assert.equal(textOf(await call('read', { path: 'no\u00a0break' })), '     1\tx')
      assert.equal(textOf(await call('read', { path: '~/no break' })), '     1\tx')
      for (const path of ['', 'a\0b', 'x'.repeat(5000), '\ud800']) {
        assert.equal(codeOf(await call('read', { path })), 'invalid_input')
      }
    }),
  )

  test(`read over ${route}: what is no regular file is named, never opened`, options, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'config.json'), '{}')
      const missing = await call('read', { path: 'confg.json' })
      assert.equal(codeOf(missing), 'not_found')
      assert.equal(textOf(missing), `no such file: ${root}/confg.json; near it: ${root}/config.json`)
      assert.equal(
        textOf(await call('read', { path: 'no/where' })),
        `no such file: ${root}/no/where; its directory does not exist either`,
      )
      mkdirSync(join(root, 'dir'))
      const directory = await call('read', { path: 'dir' })
      assert.equal(codeOf(directory), 'wrong_kind')
      assert.equal(textOf(directory), `${root}/dir is a directory, not a file: list it with the command ls`)
      execFileSync('mkfifo', [join(root, 'pipe')])
      symlinkSync('pipe', join(root, 'link'))
      for (const path of ['pipe', 'link']) {
        const fifo = await call('read', { path })
        assert.equal(codeOf(fifo), 'wrong_kind')
        assert.equal(textOf(fifo), `${root}/${path} is a fifo, not a regular file: it was not opened`)
      }
      const device = await call('read', { path: '/dev/zero' })
      assert.equal(textOf(device), '/dev/zero is a device, not a regular file: it was not opened')
      symlinkSync('gone', join(root, 'dangling'))
      assert.equal(codeOf(await call('read', { path: 'dangling' })), 'not_found')
    }),
  )

  test(`read over ${route}: bytes that are no text, and text that is nearly none`, options, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'program'), Buffer.from('\x7fELF\x02\x01\x00', 'latin1'))
      const program = await call('read', { path: 'program' })
      assert.equal(codeOf(program), 'binary')
      assert.match(textOf(program), /program is not text: an ELF program, 7B\. /)
      writeFileSync(join(root, 'latin1'), Buffer.from('caf\xe9 \xfc\n', 'latin1'))
      assert.equal(
        textOf(await call('read', { path: 'latin1' })),
        '     1\tcaf\ufffd \ufffd\n[not UTF-8 and shown as U+FFFD: 2 bytes]',
      )
      writeFileSync(join(root, 'utf16'), Buffer.from('\ufeffone\ntwo\n', 'utf16le'))
      assert.equal(
        textOf(await call('read', { path: 'utf16' })),
        '     1\tone\n     2\ttwo\n[decoded from UTF-16LE]',
      )
      writeFileSync(join(root, 'colours'), '\x1b[31mred\n')
      assert.equal(
        textOf(await call('read', { path: 'colours' })),
        '     1\t␛[31mred\n[shown as pictures, e.g. ␛: 1 control character]',
      )
      writeFileSync(join(root, 'long'), `${'é'.repeat(3000)}\nnext\n`)
      assert.equal(
        textOf(await call('read', { path: 'long' })),
        `     1\t${'é'.repeat(2000)}… [line cut, 6000 bytes]\n     2\tnext`,
      )
    }),
  )

  test(`read over ${route}: a file that is too large to fetch is cut inside`, options, () =>
    withTools(route, async ({ root, call }) => {
      const count = 400_000
      const path = join(root, '-large')
      writeFileSync(
        path,
        Array.from({ length: count }, (_, index) => `line ${index + 1} of a large file`).join('\n'),
      )
      assert.equal(
        textOf(await call('read', { path: '-large', offset: 399_000, limit: 1 })),
        '399000\tline 399000 of a large file\n[lines 399000-399000 of 400000; continue with offset=399001]',
      )
      assert.equal(
        textOf(await call('read', { path, offset: count })),
        `${count}\tline ${count} of a large file`,
      )
      assert.match(
        textOf(await call('read', { path, limit: 2 })),
        /\[lines 1-2 of 400000; continue with offset=3\]$/,
      )
      const behind = await call('read', { path, offset: count + 1 })
      assert.equal(textOf(behind), `offset 400001 is behind the end: ${path} has 400,000 lines`)
    }),
  )
}
