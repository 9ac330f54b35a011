import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { collected, never, request, withPlugin } from './plugin-world.fixture.ts'

test('empty environment, no files of the host, no programs', async () => {
  const code = `reg.tool({ name: 't', description: 'x', async handler(args) {
    const fs = await import('node:fs'), cp = await import('node:child_process')
    const tries = {
      env: () => Object.keys(process.env),
      read: () => fs.readFileSync(args[0], 'utf8'),
      list: () => fs.readdirSync('/'),
      write: () => fs.writeFileSync(args[0], 'x'),
      spawn: () => cp.spawnSync('id').error?.code ?? 'ran',
      sqlite: () => process.getBuiltinModule('node:sqlite') === undefined ? 'none' : 'there',
      own: () => { fs.writeFileSync(context.dataDir + '/x', 'kept'); return fs.readFileSync(context.dataDir + '/x', 'utf8') },
    }
    const told = {}
    for (const [name, run] of Object.entries(tries)) try { told[name] = run() } catch (error) { told[name] = error.code }
    return { exitCode: 0, output: JSON.stringify(told) }
  } })`
  await withPlugin(code, async (pipe, world) => {
    const secret = join(world.root, 'config.json5')
    writeFileSync(secret, 'key')
    const streams = collected()
    await pipe.run(request('t', [secret]), streams, never)
    const denied = 'ERR_ACCESS_DENIED'
    assert.deepEqual(JSON.parse(streams.out().toString()), {
      env: [],
      read: denied,
      list: denied,
      write: denied,
      spawn: denied,
      sqlite: 'none',
      own: 'kept',
    })
  })
})
