/** The published document says the same as the schemas that commands and frames are checked by. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '@earendil-works/pi-schema'
import { COMMAND_TYPES, isCommandType } from './commands.ts'
import { frameSchemas } from './frames.ts'
import { serveJsonSchema } from './json-schema.ts'
import { commandRules } from './rules.ts'

const document: unknown = JSON.parse(JSON.stringify(serveJsonSchema()))
const published = (name: string) =>
  compile({ ...Object(document), anyOf: undefined, $ref: `#/$defs/${name}` })

test('every command and frame is in it, under its own name and in the union', () => {
  const { $defs } = Object(document)
  assert.equal($defs.Command.anyOf.length, COMMAND_TYPES.length)
  assert.equal($defs.Frame.anyOf.length, Object.keys(frameSchemas).length)
  for (const type of COMMAND_TYPES) assert.equal($defs[`command.${type}`].properties.type.const, type)
  assert.deepEqual(Object.keys(commandRules).sort(), [...COMMAND_TYPES].sort())
  assert.equal(isCommandType('toString'), false)
})

test('what is a command or a frame passes, what is none does not', () => {
  const command = published('Command')
  assert.ok(command.check({ type: 'prompt', id: '1', message: 'hi', later: true }))
  for (const one of [
    {},
    { type: 'prompt' },
    { type: 'nothing' },
    { type: 'prompt', message: 'x', idempotency_key: 'a b' },
  ])
    assert.equal(command.check(one), false, JSON.stringify(one))
  const frame = published('Frame')
  assert.ok(frame.check({ type: 'heartbeat', seq: 4294967296 }))
  for (const one of [
    { type: 'heartbeat' },
    { type: 'heartbeat', seq: -1 },
    { type: 'gap', seq: 1, from: 1, to: 2, reason: 'x', since: null },
  ])
    assert.equal(frame.check(one), false, JSON.stringify(one))
})
