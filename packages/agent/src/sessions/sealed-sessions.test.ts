/** Sealing as a person uses it: seal what is there, read it with the key, move it to another, lose the key. */
import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sessionsBench, turn } from './sessions.fixture.ts'

function bench(context: TestContext) {
  const made = sessionsBench()
  context.after(() => made.dispose())
  const keyFile = (name: string, byte: number): string => {
    const path = join(made.cwd, name)
    writeFileSync(path, `${Buffer.alloc(32, byte).toString('base64')}\n`, { mode: 0o600 })
    return path
  }
  const bytes = () =>
    readdirSync(made.root, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
      .join('\n')
  return { ...made, keyFile, bytes }
}

test('plain sessions are sealed by rewrap, then every command wants the key', async context => {
  const { agent, make, keyFile, bytes } = bench(context)
  await make('s_a', ...turn(1, 'secret question', 'secret answer'))
  await make('s_b', ...turn(1, 'secret too', 'yes'))
  await agent('sessions', 'rm', 's_b')
  const key = keyFile('key', 1)
  const refused = await agent('sessions', 'show', 's_a', '--dek-file', key)
  assert.deepEqual([refused.code, refused.stdout], [2, ''])
  assert.match(refused.stderr, /s_a is not sealed.*agent sessions rewrap --dek-file/)
  const moved = await agent('sessions', 'rewrap', '--dek-file', key)
  assert.equal(moved.code, 0, moved.stderr)
  assert.match(moved.stdout, /^2 of 2 sessions moved to key [0-9a-f]{8}\n$/)
  assert.ok(!bytes().includes('secret'))

  assert.match((await agent('sessions', 'show', 's_a', '--dek-file', key)).stdout, /> secret question/)
  assert.match(
    (await agent('sessions', 'list', '--query', 'SECRET', '--dek-file', key)).stdout,
    /s_a.*secret question/,
  )
  assert.match((await agent('export', 's_a', '-', '--dek-file', key)).stdout, /secret answer/)
  assert.equal((await agent('sessions', 'check', '--dek-file', key)).stdout, '1 of 1 session whole\n')
  const locked = await agent('sessions', 'show', 's_a')
  assert.deepEqual([locked.code, locked.stdout], [2, ''])
  assert.match(locked.stderr, /s_a is sealed with key [0-9a-f]{8}, which is not here.*--dek-file/)
  const listed = JSON.parse((await agent('sessions', 'list', '--all', '--json')).stdout)
  assert.deepEqual([listed.total, listed.sessions[0].title], [1, ''])
  const checked = await agent('sessions', 'check')
  assert.equal(checked.code, 1)
  assert.match(checked.stdout, /s_a is sealed with key/)
  await agent('sessions', 'restore', 's_b', '--dek-file', key)
  assert.match((await agent('sessions', 'show', 's_b', '--dek-file', key)).stdout, /> secret too/)
})

test('a new key with the old one beside it; after the rewrap the old one can be destroyed', async context => {
  const { agent, make, keyFile } = bench(context)
  await make('s_a', ...turn(1, 'question', 'answer'))
  const [old, fresh] = [keyFile('old', 1), keyFile('new', 2)]
  await agent('sessions', 'rewrap', '--dek-file', old)
  const without = await agent('sessions', 'rewrap', '--dek-file', fresh)
  assert.equal(without.code, 2)
  assert.match(without.stderr, /which is not here.*--old-dek-file/)
  assert.match(
    (await agent('sessions', 'show', 's_a', '--dek-file', fresh, '--old-dek-file', old)).stdout,
    /> question/,
  )
  const args = ['sessions', 'rewrap', '--dek-file', fresh, '--old-dek-file', old, '--json']
  const first = JSON.parse((await agent(...args)).stdout)
  assert.deepEqual([first.sessions, first.moved, first.live_indexes], [1, ['s_a'], 0])
  assert.deepEqual(JSON.parse((await agent(...args)).stdout).moved, [])
  rmSync(old)
  assert.match((await agent('sessions', 'show', 's_a', '--dek-file', fresh)).stdout, /> question/)
  const other = await agent('sessions', 'show', 's_a', '--dek-file', fresh, '--tenant', 'other')
  assert.match(other.stderr, /none of the 4 sealed lines .*--tenant/)
})

test('key files: what is none is refused by name, one that others may read is a warning', async context => {
  const { agent, make, keyFile, cwd } = bench(context)
  await make('s_a', ...turn(1, 'question', 'answer'))
  const bad = join(cwd, 'bad')
  for (const [content, why] of [
    ['', /has 0 bytes/],
    ['not base64!', /not standard base64/],
    [Buffer.alloc(16).toString('base64'), /has 16 bytes, not 32/],
  ] as const) {
    writeFileSync(bad, content)
    const { code, stderr } = await agent('sessions', 'list', '--dek-file', 'bad')
    assert.equal(code, 2)
    assert.match(stderr, /bad is no key file/)
    assert.match(stderr, why)
  }
  assert.match((await agent('sessions', 'list', '--dek-file', 'none')).stderr, /none is no key file: ENOENT/)
  assert.match((await agent('sessions', 'rewrap')).stderr, /--dek-file: it is missing/)
  const old = await agent('sessions', 'list', '--old-dek-file', keyFile('key', 1))
  assert.match(old.stderr, /--old-dek-file: an old key only reads/)
  chmodSync(keyFile('key', 1), 0o644)
  assert.match(
    (await agent('sessions', 'rewrap', '--dek-file', 'key')).stderr,
    /others may read the key file/,
  )
})
