import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fail } from './errors.ts'
import { explainSystem, unreadable } from './system-refusal.ts'

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return assert.fail('nothing was thrown')
}

test('what the system refuses is told with what to do', () => {
  const error = thrown(() => mkdirSync(`${import.meta.filename}/home`))
  assert.match(
    explainSystem(error),
    /^ENOTDIR: .*home'\. A file lies where a folder is needed: .* BEIGE_HOME$/,
  )
})

test('our own errors keep their own advice, and the unknown is told as it is', () => {
  assert.equal(explainSystem(fail('unavailable')), 'the gateway is stopping. Ask again when it runs')
  assert.equal(explainSystem(new Error('odd')), 'odd')
})

test('a file that can not be read is named, without the words of a system call', () => {
  const path = `${import.meta.filename}.gone`
  assert.equal(
    unreadable(
      thrown(() => readFileSync(path)),
      path,
    ),
    `${path} is not there`,
  )
})
