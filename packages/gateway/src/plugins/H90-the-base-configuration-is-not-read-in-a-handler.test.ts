import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collected, never, request, withPlugin } from './plugin-world.fixture.ts'

test('the base configuration is not read in a handler', async () => {
  const code = `const early = config.base
    reg.tool({ name: 't', description: 'x', handler: async () => ({ exitCode: early ? 0 : 1, output: String(config.base) }) })`
  await withPlugin(code, async pipe => {
    const streams = collected()
    const end = await pipe.run(request('t'), streams, never)
    assert.equal(end.exitCode, 1)
    assert.match(streams.err().toString(), /use call.config/)
  })
})
