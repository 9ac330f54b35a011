import assert from 'node:assert/strict'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, FILE_ROUTES, textOf, withTools } from '../../test/tool-bench.ts'

for (const route of FILE_ROUTES) {
  const options = { skip: execdMissing() }

  test(`edit over ${route}: the new lines are shown, the diff is in the details`, options, () =>
    withTools(route, async ({ root, call }) => {
      const path = join(root, 'a.ts')
      writeFileSync(path, 'a\nb\nc\nd\ne\nf\n')
      const result = await call('edit', {
        path,
        edits: [
          { old_string: 'b', new_string: 'B\nBB' },
          { old_string: 'e\n', new_string: '' },
        ],
      })
      assert.equal(textOf(result), `edited ${path} (2 replacements)\n     2\tB\n     3\tBB\n   …\n     6\tf`)
      assert.equal(readFileSync(path, 'utf8'), 'a\nB\nBB\nc\nd\nf\n')
      assert.deepEqual([result.details.added, result.details.removed], [2, 2])
      assert.equal(
        result.details.diff,
        `--- ${path}\n+++ ${path}\n@@ -1,6 +1,6 @@\n a\n-b\n+B\n+BB\n c\n d\n-e\n f\n`,
      )
    }),
  )

  test(`edit over ${route}: every failure says what is there instead and writes nothing`, options, () =>
    withTools(route, async ({ root, call }) => {
      const path = join(root, 'a.py')
      const content = 'x = 1\nif x:\n\tprint(x)\nx = 1\n'
      writeFileSync(path, content)
      const rows: [input: object, code: string, text: string][] = [
        [{}, 'invalid_input', 'old_string is missing: give old_string and new_string, or edits'],
        [
          { old_string: 'x' },
          'invalid_input',
          'new_string is missing: give old_string and new_string, or edits',
        ],
        [
          { old_string: 'x', new_string: 'y', edits: [{ old_string: 'a', new_string: 'b' }] },
          'invalid_input',
          'give either edits, or old_string and new_string, not both',
        ],
        [
          { old_string: '', new_string: 'y' },
          'invalid_input',
          'old_string is empty: to create or replace a whole file use write',
        ],
        [
          { old_string: 'x = 1', new_string: 'x = 1' },
          'no_change',
          `old_string and new_string are the same: ${path} stays as it is`,
        ],
        [
          { old_string: 'x = 1', new_string: 'y' },
          'not_unique',
          `old_string is at 2 places in ${path}: lines 1, 4. Add lines around it until it is at one, or set replace_all`,
        ],
        [
          { old_string: 'if x:\n    print(x)', new_string: 'y' },
          'no_match',
          `old_string is not in ${path}. Nearest are lines 2 to 3:\nFirst difference at line 3, column 1: the file has "\\tprint(x)", old_string has "    print(x)"\n2\tif x:\n3\t\tprint(x)`,
        ],
        [
          { old_string: 'zzzzzzzz', new_string: 'y' },
          'no_match',
          `old_string is not in ${path}, and nothing like it: read the file again`,
        ],
        [
          {
            edits: [
              { old_string: 'if x:\n', new_string: '' },
              { old_string: ':\n\tprint', new_string: '' },
            ],
          },
          'overlap',
          `edits[1] and edits[0] change the same text, line 2 of ${path}: put them into one edit\nNone of the edits was made`,
        ],
      ]
      for (const [input, code, text] of rows) {
        const result = await call('edit', { path, ...input })
        assert.equal(codeOf(result), code)
        assert.equal(textOf(result), text)
      }
      assert.equal(readFileSync(path, 'utf8'), content)
      assert.equal(codeOf(await call('edit', { path: 'no', old_string: 'a', new_string: 'b' })), 'not_found')
      writeFileSync(join(root, 'bin'), 'a\0b')
      assert.equal(codeOf(await call('edit', { path: 'bin', old_string: 'a', new_string: 'b' })), 'binary')
      chmodSync(path, 0o444)
      assert.equal(codeOf(await call('edit', { path, old_string: 'if', new_string: 'b' })), 'permission')
    }),
  )

  test(
    `edit over ${route}: somebody writes in between: once more on the new content, then stale`,
    options,
    () =>
      withTools(route, async ({ root, call, exec }) => {
        const path = join(root, 'a')
        const racing = (times: number) => {
          let left = times
          return {
            ...exec,
            writeFile: async (...args: Parameters<typeof exec.writeFile>) => {
              if (left-- > 0) writeFileSync(path, `${readFileSync(path, 'utf8')}theirs ${left}\n`)
              return await exec.writeFile(...args)
            },
          }
        }
        const hands = (times: number) => ({
          id: 'race',
          open: async () => ({ exec: racing(times), generation: `race ${times}`, workspace: root }),
        })
        writeFileSync(path, 'mine\n')
        const once = await call('edit', { path, old_string: 'mine', new_string: 'MINE' }, { hands: hands(1) })
        assert.equal(codeOf(once), null, textOf(once))
        assert.equal(readFileSync(path, 'utf8'), 'MINE\ntheirs 0\n')
        const twice = await call('edit', { path, old_string: 'MINE', new_string: 'x' }, { hands: hands(2) })
        assert.equal(codeOf(twice), 'stale')
        assert.equal(readFileSync(path, 'utf8'), 'MINE\ntheirs 0\ntheirs 1\ntheirs 0\n')
      }),
  )
}
