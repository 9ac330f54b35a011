import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPluginPipe } from './plugin-pipe.ts'
import { testWorld, writePlugin } from './plugin-world.fixture.ts'

test('a tool too many or too few is refused', async () => {
  const world = testWorld()
  const one = `reg.tool({ name: 'a', description: 'x', handler: async () => ({ exitCode: 0 }) })`
  await assert.rejects(
    openPluginPipe(writePlugin(world, 'a', ['a', 'a.b'], one), world),
    /did not register the tool "a.b"/,
  )
  await assert.rejects(openPluginPipe(writePlugin(world, 'b', [], one), world), /does not list/)
  await assert.rejects(
    openPluginPipe(writePlugin(world, 'c', ['a'], `${one};${one}`), world),
    /registers "a" twice/,
  )
  await assert.rejects(
    openPluginPipe(writePlugin(world, 'd', ['a'], 'throw new Error("broken")'), world),
    /broken/,
  )
})
