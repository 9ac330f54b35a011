import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSessionId, type SessionId, systemClock, systemRandom } from '@beige/protocol'
import { createMemoryStore } from '@beige/sessions'
import { manualClock } from '@beige/test-support'
import { whichSession } from './which-session.ts'

const outside = { clock: systemClock, random: systemRandom }
const newStore = () => createMemoryStore(outside)

function id(text: string): SessionId {
  assert.ok(isSessionId(text))
  return text
}

test('neither: a new one each time', async () => {
  const store = newStore()
  const one = await whichSession({ sessionId: null, continue: false }, '/w', store, outside)
  const two = await whichSession({ sessionId: null, continue: false }, '/w', store, outside)
  assert.notEqual(one, two)
  assert.equal(await store.exists(one), false)
})

test('--session-id is exactly that one and outranks --continue', async () => {
  const store = newStore()
  await store.create({ id: id('s_there'), cwd: '/w' })
  for (const name of ['s_there', 's_not-there'])
    assert.equal(await whichSession({ sessionId: id(name), continue: true }, '/w', store, outside), name)
})

test('--continue is the newest of this directory, else a new one', async () => {
  const clock = manualClock()
  const store = createMemoryStore({ clock, random: systemRandom })
  const newest = () => whichSession({ sessionId: null, continue: true }, '/w', store, outside)
  assert.ok(isSessionId(await newest()))
  await store.create({ id: id('s_older'), cwd: '/w' })
  clock.advance(1000)
  await store.create({ id: id('s_newer'), cwd: '/w' })
  await store.create({ id: id('s_elsewhere'), cwd: '/w/x' })
  assert.equal(await newest(), 's_newer')
})
