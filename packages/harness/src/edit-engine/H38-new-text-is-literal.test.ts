import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyEdits } from './index.ts'

const PATTERNS = ['$&', '$1', '$`', "$'", '$$', '\\1', '\\n', '{{x}}', '${x}', '%s']

test('H38 the naive replace expands patterns', () => {
  assert.notEqual('price: OLD'.replace('OLD', '$&$$'), 'price: $&$$')
})

test('H38 patterns in the new text and in the old text are literal bytes', () => {
  for (const pattern of PATTERNS) {
    const result = applyEdits(Buffer.from(`a ${pattern} OLD b\n`), [
      { oldText: 'OLD', newText: pattern, replaceAll: false },
    ])
    assert.ok(result.ok)
    assert.equal(Buffer.from(result.bytes).toString(), `a ${pattern} ${pattern} b\n`)
    const back = applyEdits(result.bytes, [{ oldText: pattern, newText: 'x', replaceAll: true }])
    assert.ok(back.ok)
    assert.equal(Buffer.from(back.bytes).toString(), 'a x x b\n')
  }
})
