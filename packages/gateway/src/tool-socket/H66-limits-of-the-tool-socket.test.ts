import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { encodeFrame, encodeJson, TOOL_FRAME } from '@beige/protocol'
import { MAX_CONNECTIONS } from './listener.ts'
import { connectRaw, exchangeV1, git, openTestSocket } from './socket.fixture.ts'

test('lines, frames, connections, idleness; the others are served', { timeout: 20_000 }, async t => {
  const place = await openTestSocket([git], { idleMs: 150, helloMs: 100 })
  t.after(() => place.close())
  const good = async () => {
    const [line] = await exchangeV1(place.scout.path, '{"tool":"git"}\n', 1)
    assert.match(line ?? '', /"success":true/)
  }
  const longLine = await exchangeV1(place.scout.path, `{"tool":"${'x'.repeat(1_100_000)}`, 1)
  assert.match(longLine[0] ?? '', /at most 1048576 bytes/)
  await good()
  const closedBy = async (bytes: Uint8Array | string) => {
    const client = await connectRaw(place.scout.path)
    client.socket.write(bytes)
    await client.closed
  }
  await closedBy('GET / HTTP/1.1\r\n\r\n')
  await closedBy('BGS1\n')
  await closedBy('') // says nothing
  await closedBy('BGS2\n') // no hello
  await closedBy(Buffer.concat([Buffer.from('BGS2\n'), Buffer.from([0xff, 0xff, 0xff, 0xff, 1])]))
  await closedBy(
    Buffer.concat([Buffer.from('BGS2\n'), encodeFrame(TOOL_FRAME.request, 1, encodeJson({ tool: 'git' }))]),
  )
  await closedBy(Buffer.concat([Buffer.from('BGS2\n'), encodeFrame(0x77, 1)]))
  await closedBy('{"tool":') // half a line, then nothing
  await closedBy(Buffer.concat([Buffer.from('BGS2\n'), encodeFrame(TOOL_FRAME.hello, 0, encodeJson({}))])) // idle
  await good()

  const many = Array.from({ length: MAX_CONNECTIONS * 2 }, () => connect(place.scout.path))
  await Promise.all(
    many.map(one => new Promise(resolve => one.once('close', resolve).on('error', () => undefined))),
  )
  // A place is free when the listener has heard of the close, which may be after its peer has.
  const isServed = () => exchangeV1(place.scout.path, '{"tool":"git"}\n', 1).catch(() => [])
  while ((await isServed()).length === 0) t.signal.throwIfAborted()
  await good()
})
