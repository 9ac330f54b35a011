import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collected, ECHO, never, request, withPlugin } from './plugin-world.fixture.ts'

test('argv of any bytes, stdin, both streams, exit code and data pass through', async () => {
  const argv = ['', ' a  b ', 'q"\'`$(x)\n\t', new Uint8Array([0xff, 0xfe, 0x00, 0x80]), '🦊']
  await withPlugin(ECHO, async pipe => {
    const streams = collected([Buffer.from('in'), new Uint8Array([0, 255])])
    const end = await pipe.run(request('t', argv), streams, never)
    const hex = argv.map(arg => Buffer.from(arg).toString('hex'))
    assert.equal(streams.out().toString(), `${JSON.stringify(hex)}.`)
    assert.deepEqual(streams.err(), Buffer.from([105, 110, 0, 255]))
    assert.equal(end.exitCode, 7)
    assert.deepEqual(end.data, { agent: 'scout', config: { mine: true } })
  })
})
