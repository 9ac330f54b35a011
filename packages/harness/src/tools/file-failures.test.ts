import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, FILE_ROUTES, textOf, withTools } from '../../test/tool-bench.ts'

// Root may read and write anything, so as root the tools work as somebody else.
const asSomebody: Record<string, string> = process.getuid?.() === 0 ? { EXECD_RUN_AS: '65534' } : {}

for (const route of FILE_ROUTES) {
  test(`file failures over ${route}: what the user of the sandbox may not do`, { skip: execdMissing() }, () =>
    withTools(
      route,
      async ({ root, call }) => {
        chmodSync(dirname(root), 0o755)
        chmodSync(root, 0o755)
        writeFileSync(join(root, 'secret'), 'secret')
        chmodSync(join(root, 'secret'), 0o200)
        const read = await call('read', { path: 'secret' })
        assert.equal(codeOf(read), 'permission')
        assert.equal(textOf(read), `${root}/secret: Permission denied (mode 0200)`)
        mkdirSync(join(root, 'theirs'))
        writeFileSync(join(root, 'theirs', 'file'), 'keep')
        chmodSync(join(root, 'theirs'), 0o555)
        for (const path of ['theirs/file', 'theirs/new']) {
          const written = await call('write', { path, content: 'x' })
          assert.equal(codeOf(written), 'permission', path)
          assert.match(textOf(written), /Permission denied/)
        }
        const edited = await call('edit', { path: 'theirs/file', old_string: 'keep', new_string: 'x' })
        assert.equal(codeOf(edited), 'permission')
        assert.equal(readFileSync(join(root, 'theirs', 'file'), 'utf8'), 'keep')
        chmodSync(join(root, 'theirs'), 0o000)
        assert.equal((await call('read', { path: 'theirs/file' })).isError, true)
        const ran = await call('bash', { command: 'pwd', cwd: 'theirs' })
        assert.match(textOf(ran), /Permission denied\n\[exit code 126\]$/)
        chmodSync(join(root, 'theirs'), 0o755)
      },
      asSomebody,
    ),
  )

  test(`file failures over ${route}: a file in the way, a name too long`, { skip: execdMissing() }, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'file'), '')
      for (const tool of ['read', 'write'] as const) {
        const content = tool === 'write' ? { content: 'x' } : {}
        const below = await call(tool, { path: 'file/below', ...content })
        assert.equal(below.isError, true)
        assert.match(textOf(below), /file\/below/)
        const long = await call(tool, { path: 'x'.repeat(300), ...content })
        assert.equal(long.isError, true)
      }
      const near = await call('read', { path: '../root-nothing-like-it' })
      assert.equal(codeOf(near), 'not_found')
    }),
  )
}
