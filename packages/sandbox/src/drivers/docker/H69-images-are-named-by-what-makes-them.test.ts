import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imageTag } from './image.ts'

test('the tag of our image follows its sources', () => {
  assert.match(imageTag() ?? '', /^[0-9a-f]{12}$/)
  assert.equal(imageTag(), imageTag())
})
