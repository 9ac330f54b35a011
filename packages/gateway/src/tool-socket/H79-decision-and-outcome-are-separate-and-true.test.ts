import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TOOL_FRAME } from '@beige/protocol'
import { connectV2, done, openTestSocket, tool, wait } from './socket.fixture.ts'

test('what was denied is denied, what failed is a failure, what was stopped was interrupted', async () => {
  const fails = tool('fails', async (_input, { streams }) => {
    await streams?.stderr(Buffer.from('no\n'))
    return done(7)
  })
  const throws = tool('throws', async () => {
    throw new RangeError('broken')
  })
  const good = tool('good', async (_input, { streams }) => {
    await streams?.stdout(Buffer.from('12345'))
    return done(0)
  })
  const place = await openTestSocket([fails, throws, good, wait], {
    allowed: ['fails', 'throws', 'good', 'wait'],
  })
  const client = await connectV2(place.scout.path)
  const exits: unknown[] = []
  for (const [id, name] of ['fails', 'throws', 'good', 'denied'].entries()) {
    client.send(TOOL_FRAME.request, id + 1, { tool: name, args: [] })
    exits.push((await client.untilExit(id + 1)).exit.exit_code)
  }
  client.send(TOOL_FRAME.request, 9, { tool: 'wait', args: [] })
  while ((await client.next()).type !== TOOL_FRAME.stdout);
  client.send(TOOL_FRAME.cancel, 9)
  exits.push((await client.untilExit(9)).exit.exit_code)
  client.socket.destroy()
  await place.close()

  assert.deepEqual(exits, [7, 1, 0, 1, 130])
  const ends = place
    .records()
    .filter(record => record.phase === 'end')
    .map(({ tool, decision, outcome, exitCode, outputBytes }) => [
      tool,
      decision,
      outcome,
      exitCode,
      outputBytes,
    ])
  assert.deepEqual(ends, [
    ['fails', 'allowed', 'failed', 7, 3],
    ['throws', 'allowed', 'failed', undefined, 0],
    ['good', 'allowed', 'done', 0, 5],
    ['denied', 'denied', undefined, undefined, undefined],
    ['wait', 'allowed', 'interrupted', undefined, 5],
  ])
})
