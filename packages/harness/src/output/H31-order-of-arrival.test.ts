import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCapture } from './index.ts'

test('H31 stdout and stderr stay in order of arrival', () => {
  const capture = createCapture()
  for (let at = 0; at < 5; at++) {
    capture.push('stdout', Buffer.from(`out ${at}\n`))
    capture.push('stderr', Buffer.from(`err ${at}\n`))
  }
  assert.equal(capture.finish().text, Array.from({ length: 5 }, (_, at) => `out ${at}\nerr ${at}`).join('\n'))
})
