import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, FILE_ROUTES, textOf, withTools } from '../../test/tool-bench.ts'

for (const route of FILE_ROUTES) {
  const options = { skip: execdMissing() }

  test(`write over ${route}: creates with parents, replaces, says which`, options, () =>
    withTools(route, async ({ root, call }) => {
      const created = await call('write', { path: 'a/b/c.txt', content: 'one\ntwo\n' })
      assert.equal(textOf(created), `wrote ${root}/a/b/c.txt (8 bytes, 2 lines, created)`)
      const replaced = await call('write', { path: 'a/b/c.txt', content: 'é' })
      assert.equal(textOf(replaced), `wrote ${root}/a/b/c.txt (2 bytes, 1 line, replaced)`)
      assert.equal(readFileSync(join(root, 'a/b/c.txt'), 'utf8'), 'é')
      writeFileSync(join(root, 'theirs'), '12345')
      assert.equal(
        textOf(await call('write', { path: 'theirs', content: '' })),
        `wrote ${root}/theirs (0 bytes, 0 lines, replaced)\n[this session had not read the old content (5B) that is now replaced]`,
      )
    }),
  )

  test(
    `write over ${route}: a file that changed since it was read is stale, a removed one is made anew`,
    options,
    () =>
      withTools(route, async ({ root, call, seenFiles }) => {
        const path = join(root, 'a')
        writeFileSync(path, 'one\n')
        await call('read', { path })
        writeFileSync(path, 'changed by somebody\n')
        const stale = await call('write', { path, content: 'mine\n' })
        assert.equal(codeOf(stale), 'stale')
        assert.match(textOf(stale), /^\/.*\/a has changed since this session read it: nothing was written\. /)
        assert.equal(readFileSync(path, 'utf8'), 'changed by somebody\n')
        await call('read', { path })
        assert.equal(codeOf(await call('write', { path, content: 'mine\n' })), null)
        assert.equal(codeOf(await call('write', { path, content: 'mine again\n' })), null)
        execFileSync('rm', [path])
        assert.match(textOf(await call('write', { path, content: 'new\n' })), /created\)$/)
        assert.equal(seenFiles.size, 1)
      }),
  )

  test(`write over ${route}: a target that is no writable regular file is left alone`, options, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'locked'), 'keep')
      chmodSync(join(root, 'locked'), 0o444)
      const locked = await call('write', { path: 'locked', content: 'x' })
      assert.equal(codeOf(locked), 'permission')
      assert.match(textOf(locked), /locked is read-only \(mode 0444\): nothing was written/)
      assert.equal(readFileSync(join(root, 'locked'), 'utf8'), 'keep')
      mkdirSync(join(root, 'dir'))
      assert.equal(codeOf(await call('write', { path: 'dir', content: 'x' })), 'wrong_kind')
      execFileSync('mkfifo', [join(root, 'pipe')])
      assert.equal(codeOf(await call('write', { path: 'pipe', content: 'x' })), 'wrong_kind')
      writeFileSync(join(root, 'file'), '')
      const below = await call('write', { path: 'file/below', content: 'x' })
      assert.equal(below.isError, true)
    }),
  )

  test(`write over ${route}: atomic, keeps the mode, follows a link to its target`, options, () =>
    withTools(route, async ({ root, call }) => {
      writeFileSync(join(root, 'script'), '#!/bin/sh\n')
      chmodSync(join(root, 'script'), 0o751)
      symlinkSync('script', join(root, 'link'))
      const before = statSync(join(root, 'script')).ino
      await call('write', { path: 'link', content: '#!/bin/sh\necho 1\n' })
      const after = statSync(join(root, 'script'))
      assert.equal(after.mode & 0o7777, 0o751)
      assert.notEqual(after.ino, before, 'written in place: a reader could have seen half of it')
      assert.equal(readFileSync(join(root, 'link'), 'utf8'), '#!/bin/sh\necho 1\n')
      await call('edit', { path: 'script', old_string: 'echo 1', new_string: 'echo 2' })
      assert.equal(statSync(join(root, 'script')).mode & 0o7777, 0o751)
    }),
  )

  test(`write over ${route}: names with quotes, dashes and commands are names`, options, () =>
    withTools(route, async ({ root, call }) => {
      for (const name of [
        "'; touch hacked; '",
        '$(touch hacked)',
        '-rf',
        '--help',
        'a\nb',
        ' ',
        '`touch hacked`',
      ]) {
        assert.equal(codeOf(await call('write', { path: join(root, name), content: name })), null, name)
        assert.equal(readFileSync(join(root, name), 'utf8'), name)
        const edited = await call('patch', { path: join(root, name), oldText: name, newText: 'x' })
        assert.equal(codeOf(edited), null, textOf(edited))
      }
      assert.equal(existsSync(join(root, 'hacked')), false)
    }),
  )
}
