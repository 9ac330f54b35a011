import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSessionId, systemClock, systemRandom } from '@beige/protocol'
import { createMemoryStore, type SessionStore } from '@beige/sessions'
import { createHost } from './host.ts'

test('a session that was there for a moment, while another process failed to make it, is made here', async () => {
  const store = createMemoryStore({ clock: systemClock, random: systemRandom })
  let looks = 0
  // Its folder was there at the first look and is gone at the next.
  const racing: SessionStore = { ...store, exists: async id => ++looks === 1 || (await store.exists(id)) }
  const made = new Error('far enough')
  const host = createHost({
    ...{ store: racing, clock: systemClock, random: systemRandom },
    makeSetup: () => Promise.reject(made),
  })
  const id = 's_raced'
  assert.ok(isSessionId(id))
  await assert.rejects(host.session(id, { cwd: '/w' }), made)
  assert.deepEqual(
    (await store.read(id)).map(record => record.type),
    ['session'],
  )
  await host.close(new Error('over'))
})
