import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TOOL_FRAME } from '@beige/protocol'
import { connectV2, echo, exchangeV1, openTestSocket } from './socket.fixture.ts'

test('what a payload says of it is ignored', async () => {
  const place = await openTestSocket([echo])
  const lies = {
    agentName: 'other',
    agent: 'other',
    sessionKey: 's_x',
    session: 's_x',
    chatId: '1',
    channel: 'telegram',
  }
  await exchangeV1(place.scout.path, `${JSON.stringify({ tool: 'echo', args: [], ...lies })}\n`, 1)
  const client = await connectV2(place.scout.path, lies)
  client.send(TOOL_FRAME.request, 1, { tool: 'echo', args: [], ...lies })
  const { stdout } = await client.untilExit(1)
  assert.deepEqual(JSON.parse(stdout.toString()), { args: [] })
  client.socket.destroy()
  await place.close()
  for (const record of place.records()) {
    assert.equal(record.agent, 'scout')
    assert.equal(record.session, undefined)
    assert.equal(record.channel, 'socket')
  }
})
