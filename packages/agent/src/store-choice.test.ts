import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RawStoreOptions, storeChoice } from './store-choice.ts'

const chosen = (raw: RawStoreOptions, store?: string) =>
  storeChoice(raw, name => (name === 'STORE' ? store : undefined))

test('the flag comes before the variable, and files are the default', () => {
  assert.deepEqual(chosen({}), { kind: 'files' })
  assert.deepEqual(chosen({}, 'memory'), { kind: 'memory' })
  assert.deepEqual(chosen({ store: 'files' }, 'memory'), { kind: 'files' })
  assert.deepEqual(chosen({ sessionPersistence: false }, 'postgres://h/d'), { kind: 'memory' })
  assert.deepEqual(chosen({ sessionDir: '/s' }, 'postgres://h/d'), { kind: 'files' })
})

test('a database is named by its URL, over TCP or a socket', () => {
  for (const url of [
    'postgres://h/d',
    'postgresql://u@h:5433/d?sslmode=require',
    'postgres://u@/d?host=%2Frun',
    'postgres:///d',
  ]) {
    assert.deepEqual(chosen({ store: url }), { kind: 'postgres', url })
  }
})

test('what is no store is refused by name, and a password is not repeated', () => {
  for (const store of ['mysql://h/d', 'postgres://h', 'postgres://h/', '/path', 'postgres://[/d']) {
    assert.throws(() => chosen({ store }), { code: 'bad_value', message: /^--store: / }, store)
  }
  for (const store of ['postgres://u:secret@h/d', 'postgres://u@h/d?password=secret']) {
    assert.throws(
      () => chosen({ store }),
      (error: Error) => error.message.includes('PGPASSWORD') && !error.message.includes('secret'),
    )
  }
  assert.throws(() => chosen({ store: 'files', sessionPersistence: false }), { code: 'bad_value' })
  assert.throws(() => chosen({ store: 'postgres://h/d', sessionDir: '/s' }), { code: 'bad_value' })
})
