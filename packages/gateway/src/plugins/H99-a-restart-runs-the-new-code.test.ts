import assert from 'node:assert/strict'
import { test } from 'node:test'
import { supervisePlugin } from './plugin-supervisor.ts'
import { collected, never, request, testWorld, until, writePlugin } from './plugin-world.fixture.ts'

test('a plugin that is started again is a new process with the code that lies on disk then', async () => {
  const world = testWorld()
  const code = (says: string) => `reg.tool({ name: 't', description: 'x', async handler(args) {
    if (args[0] === 'die') process.exit(1)
    return { exitCode: 0, output: '${says}' } } })`
  const supervisor = supervisePlugin(writePlugin(world, 't', ['t'], code('old')), world)
  await supervisor.load()
  await supervisor.start()
  try {
    writePlugin(world, 't', ['t'], code('new'))
    await assert.rejects(supervisor.run(request('t', ['die']), collected(), never))
    await until(() => supervisor.state().state === 'ready')
    const streams = collected()
    await supervisor.run(request('t'), streams, never)
    assert.equal(streams.out().toString(), 'new')
  } finally {
    await supervisor.stop(1000)
  }
})
