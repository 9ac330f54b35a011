import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, test } from 'node:test'
import { openTestKit } from '@beige/plugin-sdk'
import { createPlugin } from './index.ts'

const CONFIG = { maxKeys: 5, maxValueBytes: 1000 }
const folder = () => mkdtempSync(join(tmpdir(), 'beige-kv-'))
const kits: { stop(): Promise<void> }[] = []
function kitAt(dataDir: string, config = CONFIG) {
  const kit = openTestKit(createPlugin, { dataDir, config })
  kits.push(kit)
  return kit
}
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.stop()
})

test('a value comes back, from a later process too', async () => {
  const dataDir = folder()
  const kit = kitAt(dataDir)
  assert.equal((await kit.call('kv', ['set', 'colour', 'beige'])).exitCode, 0)
  assert.equal((await kit.call('kv', ['get', 'colour'])).stdout.toString(), 'beige\n')
  await kit.stop()
  assert.equal((await kitAt(dataDir).call('kv', ['get', 'colour'])).stdout.toString(), 'beige\n')
})

test('a value is kept byte for byte, from an argument and from standard input', async () => {
  const kit = kitAt(folder())
  const bytes = new Uint8Array([0, 255, 10, 128])
  await kit.call('kv', ['set', 'a', bytes])
  await kit.call('kv', ['set', 'b'], { stdin: bytes })
  for (const key of ['a', 'b'])
    assert.deepEqual((await kit.call('kv', ['get', '--raw', key])).stdout, Buffer.from(bytes))
})

test('a value that is too large is refused alike, from an argument and from standard input', async () => {
  const kit = kitAt(folder())
  const large = 'x'.repeat(1001)
  for (const answer of [
    await kit.call('kv', ['set', 'a', large]),
    await kit.call('kv', ['set', 'a'], { stdin: large }),
  ])
    assert.deepEqual([answer.exitCode, answer.stderr.toString()], [1, 'kv: a value has at most 1000 bytes\n'])
})

test('keys are listed in order, by prefix, and go when deleted', async () => {
  const kit = kitAt(folder())
  for (const key of ['b', 'a2', 'a1']) await kit.call('kv', ['set', key, 'x'])
  assert.equal((await kit.call('kv', ['list'])).stdout.toString(), 'a1\na2\nb\n')
  assert.equal((await kit.call('kv', ['delete', 'a1'])).exitCode, 0)
  assert.equal((await kit.call('kv', ['list', 'a'])).stdout.toString(), 'a2\n')
  const gone = await kit.call('kv', ['delete', 'a1'])
  assert.equal(gone.exitCode, 1)
  assert.equal(gone.stderr.toString(), 'kv: no key "a1"\n')
})

test('each agent has its own', async () => {
  const kit = kitAt(folder())
  await kit.call('kv', ['set', 'k', 'one'], { agent: 'one' })
  assert.equal((await kit.call('kv', ['get', 'k'], { agent: 'two' })).exitCode, 1)
})

test('limits and misuse are said', async () => {
  const kit = kitAt(folder())
  const refused: [args: string[], text: RegExp, code: number][] = [
    [['set', 'k', 'x'.repeat(1001)], /at most 1000 bytes/, 1],
    [['set', '', 'x'], /not empty/, 1],
    [['set', 'a\nb', 'x'], /control characters/, 1],
    [['set', 'k'.repeat(1025), 'x'], /at most 1024/, 1],
    [['get'], /^usage/, 2],
    [['frob'], /^usage/, 2],
    [[], /^usage/, 2],
  ]
  for (const [args, text, code] of refused) {
    const answer = await kit.call('kv', args)
    assert.match(answer.stderr.toString(), text)
    assert.equal(answer.exitCode, code)
  }
  for (let n = 0; n < 5; n++) await kit.call('kv', ['set', `k${n}`, 'x'])
  assert.match((await kit.call('kv', ['set', 'k5', 'x'])).stderr.toString(), /already 5 keys/)
  assert.equal((await kit.call('kv', ['set', 'k1', 'y'])).exitCode, 0)
})

test('twenty writes at once are all there', async () => {
  const dataDir = folder()
  const kit = kitAt(dataDir, { maxKeys: 100, maxValueBytes: 100 })
  await Promise.all(Array.from({ length: 20 }, (_, n) => kit.call('kv', ['set', `k${n}`, `${n}`])))
  await kit.stop()
  const again = kitAt(dataDir)
  assert.equal((await again.call('kv', ['list'])).stdout.toString().split('\n').length, 21)
})

test('a torn tail costs itself alone, a log of old lines is written anew', async () => {
  const dataDir = folder()
  const kit = kitAt(dataDir)
  await kit.call('kv', ['set', 'k', 'kept'])
  await kit.stop()
  appendFileSync(join(dataDir, 'test.jsonl'), '{"key":"k","val')
  const second = kitAt(dataDir)
  assert.equal((await second.call('kv', ['get', 'k'])).stdout.toString(), 'kept\n')
  await second.call('kv', ['set', 'l', 'after'])
  await second.stop()
  const third = kitAt(dataDir)
  assert.equal((await third.call('kv', ['list'])).stdout.toString(), 'k\nl\n')

  for (let n = 0; n < 1100; n++) await third.call('kv', ['set', 'k', `${n}`])
  await third.stop()
  assert.deepEqual(readdirSync(dataDir), ['test.jsonl'])
  assert.ok(readFileSync(join(dataDir, 'test.jsonl'), 'utf8').split('\n').length < 200)
  assert.equal(statSync(join(dataDir, 'test.jsonl')).mode & 0o777, 0o600)
  assert.equal((await kitAt(dataDir).call('kv', ['get', 'k'])).stdout.toString(), '1099\n')
})
