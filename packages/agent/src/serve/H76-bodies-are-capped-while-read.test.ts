import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { test } from 'node:test'
import { MAX_COMMAND_BYTES, systemClock } from '@beige/protocol'
import { depthOf, parseCommand, readCommand } from './body.ts'

async function posted(
  headers: Record<string, string>,
  chunks: readonly (string | Buffer)[],
): Promise<number> {
  const server = createServer((incoming, response) => {
    void readCommand(incoming, systemClock).then(body => {
      response.writeHead(body.ok ? 200 : body.status, { Connection: 'close' }).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  try {
    const client = request({ port, host: '127.0.0.1', method: 'POST', headers })
    client.on('error', () => {})
    const answer = once(client, 'response')
    for (const chunk of chunks) client.write(chunk)
    client.end()
    const [response] = await answer
    response.resume()
    return response.statusCode
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

test('H74 only JSON is taken: what a form or a page without preflight can send is not', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json; charset=latin1',
    'application/jsonx',
  ])
    assert.equal(await posted({ 'Content-Type': type }, ['{}']), 415, type)
  assert.equal(await posted({}, ['{}']), 415)
  assert.equal(await posted({ ...JSON_TYPE, 'Content-Encoding': 'gzip' }, ['{}']), 415)
  assert.equal(await posted({ 'Content-Type': 'application/json; charset=UTF-8' }, ['{}']), 200)
})

test('too large is 413, by its head or while it comes; H75 malformed is 400', async () => {
  const large = Buffer.alloc(MAX_COMMAND_BYTES / 8, 0x20)
  assert.equal(await posted({ ...JSON_TYPE, 'Content-Length': String(MAX_COMMAND_BYTES + 1) }, []), 413)
  assert.equal(
    await posted(
      JSON_TYPE,
      Array.from({ length: 9 }, () => large),
    ),
    413,
  )
  for (const text of ['', '{', '[1]', 'null', '"a"', '{"a":1}{"b":2}'])
    assert.equal(await posted(JSON_TYPE, [text]), 400, text)
  assert.equal(await posted(JSON_TYPE, [Buffer.from([0x7b, 0xff, 0x7d])]), 400)
})

test('more than 64 levels are refused before anything recursive sees them; brackets in strings are none', () => {
  const nested = (levels: number) => Buffer.from(`{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`)
  assert.equal(parseCommand(nested(64)).ok, true)
  assert.equal(parseCommand(nested(65)).ok, false)
  assert.equal(parseCommand(nested(2_000_000)).ok, false)
  assert.equal(depthOf(JSON.stringify({ a: '[[[[{{{{\\"[[' })), 1)
})
