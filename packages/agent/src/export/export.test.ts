/** Exports of every record type, of a damaged log and of hostile text: valid HTML without scripts, records, pi's format. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { everyRecord, HOSTILE } from '../../test/every-record.ts'
import { sessionsBench, turn } from '../sessions/sessions.fixture.ts'
import { elementsOf } from './html-elements.fixture.ts'

function bench(context: TestContext) {
  const made = sessionsBench()
  context.after(() => made.dispose())
  return made
}

test('every record type, with hostile text in every place: valid, no script, nothing loaded', async context => {
  const { agent, make } = bench(context)
  await make('s_h', ...everyRecord(HOSTILE))
  const { stdout: html, code } = await agent('export', 's_h', '-')
  assert.equal(code, 0)
  const elements = elementsOf(html)
  for (const { name, attributes } of elements) {
    assert.ok(!/^(script|iframe|object|embed|link|form|base|svg|a)$/.test(name), name)
    for (const [key, value] of Object.entries(attributes)) {
      assert.ok(!/^(on|href|action|style|srcdoc)/.test(key), key)
      if (key === 'src') assert.match(value, /^data:image\/png;base64,[A-Za-z0-9+/=]+$/)
    }
  }
  assert.ok(html.includes('default-src &#39;none&#39;'))
  assert.ok(!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e\ufdd0]|\p{Noncharacter_Code_Point}/u.test(html))
  assert.ok(html.isWellFormed())
})

test('branches and compacted turns are folded where they leave, edits are diffs, damage is marked', async context => {
  const { agent, make } = bench(context)
  await make('s_e', ...everyRecord('note'))
  const { stdout: html } = await agent('export', 's_e', '-')
  const elements = elementsOf(html)
  const entryOf = (id: string) => {
    const found = elements.find(one => one.attributes['data-entry'] === id)
    assert.ok(found, id)
    return found.within
      .map(one => one.attributes.class ?? one.name)
      .filter(kind => /branch|folded/.test(kind))
  }
  assert.deepEqual(entryOf('p1'), ['folded'])
  assert.deepEqual(entryOf('p2'), ['folded', 'branch'])
  assert.deepEqual(entryOf('a2b'), ['folded', 'branch'])
  assert.deepEqual(entryOf('a2'), ['folded', 'branch', 'branch'])
  assert.deepEqual(['p3', 'a3', 'k1', 'p4', 'u1'].flatMap(entryOf), [])
  const order = ['p1', 'a1', 'p2', 'b1', 'p3', 'a3', 'k1', 'p4', 'u1'].map(id =>
    html.indexOf(`data-entry="${id}"`),
  )
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  )
  for (const shown of [
    '<span class="del">-old</span>',
    '<span class="add">+note</span>',
    'Damaged: 34 bytes of 000001.jsonl at byte 12 (unreadable note); 2 of its records are lost',
    'model: fake/m2 note',
    'reasoning effort: high',
    'label note',
    'mine: {&quot;note&quot;:&quot;note&quot;}',
    'Run failed: failed note',
    '<h1>A title note</h1>',
    '400 tokens in, 40 out, $0.0400',
  ]) {
    assert.ok(html.includes(shown), shown)
  }
  assert.ok(!html.includes('of the host') && !html.includes('of a server'))
})

test('a damaged log exports what is left of it', async context => {
  const { agent, make, root } = bench(context)
  await make('s_d', ...turn(1, 'one', 'two'), ...turn(2, 'three', 'four', 'e_m1'))
  const path = join(root, 's_d', '000001.jsonl')
  const bytes = readFileSync(path)
  bytes.fill(0, bytes.indexOf('"seq":3') + 20, bytes.indexOf('"seq":3') + 90)
  writeFileSync(path, bytes)
  await agent('sessions', 'repair', 's_d')
  const { stdout: html, code } = await agent('export', 's_d', '-')
  assert.equal(code, 0)
  elementsOf(html)
  assert.match(html, /Damaged: \d+ bytes of 000001\.jsonl/)
  for (const text of ['one', 'three', 'four']) assert.ok(html.includes(`>${text}<`), text)
  assert.ok(!html.includes('>two<'))
})

test('files: a name of its own that takes no other’s place, a given name, private mode', async context => {
  const { agent, make, cwd } = bench(context)
  await make('s_a', ...turn(1, 'one', 'two'))
  const { stdout } = await agent('export', 's_a')
  assert.match(stdout, /session-\d+\.html\n$/)
  const path = stdout.trim()
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const given = JSON.parse((await agent('export', 's_a', 'out.jsonl', '--format', 'jsonl', '--json')).stdout)
  assert.deepEqual(given, { path: join(cwd, 'out.jsonl'), format: 'jsonl' })
  const records = readFileSync(given.path, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.deepEqual(
    records.map(record => [record.seq, record.type]),
    [
      [1, 'session'],
      [2, 'prompt'],
      [3, 'message'],
      [4, 'run_end'],
    ],
  )
  const bad = await agent('export', 's_a', 'no/such/folder.html')
  assert.equal(bad.code, 2)
  assert.match(bad.stderr, /can not be written.*Name another file/)
  assert.equal((await agent('export', 's_a', '--format', 'docx')).code, 2)
  assert.ok(!existsSync(join(cwd, 'no')))
  assert.equal(readdirSync(cwd).filter(name => name.endsWith('.html')).length, 1)
})

test('pi: a chain of entries that ends at the current leaf, each call with one result behind it', async context => {
  const { agent, make } = bench(context)
  await make('s_p', ...everyRecord('note'))
  const { stdout } = await agent('export', 's_p', '-', '--format', 'pi')
  const [header, ...entries] = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.partialDeepStrictEqual(header, { type: 'session', version: 3, id: 's_p' })
  const ids = entries.map(entry => entry.id)
  assert.equal(new Set(ids).size, ids.length)
  for (const { parentId } of entries) assert.ok(parentId === null || ids.includes(parentId), parentId)
  const byId = new Map(entries.map(entry => [entry.id, entry]))
  const path = []
  for (let at = entries.at(-1); at; at = byId.get(at.parentId)) path.unshift(at)
  assert.deepEqual(
    path.flatMap(entry => (/^[pabku]\d/.test(entry.id) ? [entry.id] : [])),
    ['p1', 'a1', 'b1', 'p3', 'a3', 'k1', 'p4', 'u1'],
  )
  const after = path.slice(path.findIndex(entry => entry.id === 'a1') + 1).slice(0, 3)
  assert.deepEqual(
    after.map(entry => [entry.message.role, entry.message.toolCallId, entry.message.isError]),
    [
      ['toolResult', 'c1', false],
      ['toolResult', 'c2', true],
      ['toolResult', 'c3', true],
    ],
  )
  assert.equal(byId.get('k1').firstKeptEntryId, 'p3')
})
