import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TOOL_FRAME } from '@beige/protocol'
import { MAX_REQUESTS } from './serving.ts'
import { connectV2, git, openTestSocket, wait } from './socket.fixture.ts'

test('32 at once, the 33rd is refused alone', async () => {
  const place = await openTestSocket([wait, git])
  const client = await connectV2(place.scout.path)
  for (let id = 1; id <= MAX_REQUESTS + 1; id++)
    client.send(TOOL_FRAME.request, id, { tool: 'wait', args: [] })
  const refused = await client.untilExit(MAX_REQUESTS + 1)
  assert.deepEqual(refused.exit.error, { code: 'limit', message: '32 calls already run on this connection' })
  for (let id = 1; id <= MAX_REQUESTS; id++) client.send(TOOL_FRAME.cancel, id)
  const exits = new Map<number, unknown>()
  while (exits.size < MAX_REQUESTS) {
    const frame = await client.next()
    if (frame.type !== TOOL_FRAME.exit) continue
    assert.ok(!exits.has(frame.id))
    exits.set(frame.id, frame.json)
  }
  client.send(TOOL_FRAME.request, 1, { tool: 'git', args: [] })
  assert.equal((await client.untilExit(1)).exit.exit_code, 0)
  client.socket.destroy()
  await place.close()
})
