/** `agent sessions …` as a person and as a program uses it. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sessionsBench, turn } from './sessions.fixture.ts'

function bench(context: TestContext) {
  const made = sessionsBench()
  context.after(() => made.dispose())
  return made
}

test('list shows sessions of this directory, searches, and pages', async context => {
  const { agent, make } = bench(context)
  const none = await agent('sessions', 'list')
  assert.deepEqual([none.code, none.stdout], [0, ''])
  assert.match(none.stderr, /no sessions of this directory yet/)
  await make('s_aaa', ...turn(1, 'Fix the login', 'done'))
  await make('s_aab', ...turn(1, 'Write docs', 'done'))
  const { stdout, code } = await agent('sessions', 'list')
  assert.equal(code, 0)
  assert.match(stdout, /^session +changed +messages +model +title\n/)
  assert.match(stdout, /s_aab +now +2 +fake\/m1 +Write docs/)
  const found = JSON.parse((await agent('sessions', 'list', '--query', 'LOGIN', '--json')).stdout)
  assert.deepEqual([found.total, found.sessions[0].id, found.sessions[0].message_count], [1, 's_aaa', 2])
  const page = await agent('sessions', 'list', '--limit', '1')
  assert.match(page.stderr, /1 of 2; more with --offset 1/)
  assert.match((await agent('sessions', 'list', '--offset', '1')).stdout, /s_aaa/)
  assert.match((await agent('sessions', 'list', '--limit', '0')).stderr, /--limit: "0" is none/)
})

test('an id, a unique beginning or a path names a session; what is ambiguous or unknown is said', async context => {
  const { agent, make, root } = bench(context)
  await make('s_aaa', ...turn(1, 'Fix the login', 'It **works**\u001b[31m'))
  await make('s_aab', ...turn(1, 'Write docs', 'done'))
  for (const name of ['s_aaa', join(root, 's_aaa'), join(root, 's_aaa', '000001.jsonl')]) {
    const { stdout, code } = await agent('sessions', 'show', name)
    assert.equal(code, 0)
    assert.match(stdout, /title: +Fix the login\n/)
    assert.match(stdout, /> Fix the login\n\n {2}It \*\*works\*\*\\u001b\[31m/)
  }
  const two = await agent('sessions', 'show', 's_aa')
  assert.deepEqual([two.code, two.stdout], [2, ''])
  assert.match(two.stderr, /s_aa may be any of s_aab "Write docs", s_aaa "Fix the login"/)
  assert.match(
    (await agent('sessions', 'show', 'login')).stderr,
    /no session is called login .*Perhaps s_aaa/,
  )
  assert.match((await agent('sessions', 'show', './nowhere')).stderr, /nowhere holds no session log/)
  assert.equal((await agent('sessions', 'shwo', 's_aaa')).code, 2)
})

test('show as JSON has every record in its place', async context => {
  const { agent, make } = bench(context)
  await make('s_a', ...turn(1, 'one', 'two'), { type: 'label', target_id: 'e_p1', label: 'start' })
  const shown = JSON.parse((await agent('sessions', 'show', 's_a', '--json')).stdout)
  assert.equal(shown.leaf_id, 'e_m1')
  assert.deepEqual(shown.labels, { e_p1: 'start' })
  assert.deepEqual(
    shown.nodes.map((node: { id: string; type: string }) => [node.id, node.type]),
    [
      ['#1', 'session'],
      ['e_p1', 'prompt'],
      ['e_m1', 'message'],
      ['#4', 'run_end'],
      ['#5', 'label'],
    ],
  )
})

test('check says what is damaged and exits 1; repair mends it', async context => {
  const { agent, make, root } = bench(context)
  await make('s_ok', ...turn(1, 'fine', 'fine'))
  await make('s_bad', ...turn(1, 'one', 'two'))
  assert.deepEqual(await agent('sessions', 'check'), {
    code: 0,
    stdout: '2 of 2 sessions whole\n',
    stderr: '',
  })
  const path = join(root, 's_bad', '000001.jsonl')
  const bytes = readFileSync(path)
  const at = bytes.indexOf('"seq":3')
  bytes[at + 60] = 0
  writeFileSync(path, bytes)
  const checked = await agent('sessions', 'check', 's_bad')
  assert.equal(checked.code, 1)
  assert.match(checked.stdout, /s_bad: 1 damaged part; 3 records in 1 segment/)
  assert.match(checked.stdout, /000001\.jsonl at byte \d+, \d+ bytes: unreadable; record 3 is lost/)
  assert.match(checked.stdout, /agent sessions repair s_bad/)
  assert.deepEqual(readFileSync(path), bytes)
  const report = JSON.parse((await agent('sessions', 'check', '--json')).stdout)
  assert.deepEqual(report.sessions.map((one: { id: string; state: string }) => [one.id, one.state]).sort(), [
    ['s_bad', 'damaged'],
    ['s_ok', 'whole'],
  ])
  const repaired = await agent('sessions', 'repair', 's_bad')
  assert.equal(repaired.code, 0, repaired.stderr)
  assert.match(repaired.stdout, /written anew without 1 damaged part/)
  assert.match(repaired.stdout, /000001\.jsonl\.quarantine/)
  const after = await agent('sessions', 'check', 's_bad')
  assert.equal(after.code, 0)
  assert.match(after.stdout, /s_bad: repaired;.*\n.*record 3 is lost; left out/)
  assert.match((await agent('sessions', 'repair', 's_bad')).stdout, /nothing to repair/)
})

test('rm and restore, by a beginning; gc removes what is empty and old', async context => {
  const { agent, make } = bench(context)
  await make('s_aaa', ...turn(1, 'one', 'two'))
  await make('s_bbb')
  assert.match((await agent('sessions', 'rm', 's_aa')).stdout, /s_aaa is in the trash/)
  assert.equal((await agent('sessions', 'show', 's_aaa')).code, 2)
  assert.match((await agent('sessions', 'trash')).stdout, /s_aaa +now/)
  assert.match((await agent('sessions', 'restore', 's_a')).stdout, /s_aaa is back/)
  assert.match((await agent('sessions', 'restore', 's_aaa')).stderr, /s_aaa is not removed/)
  assert.match((await agent('sessions', 'show', 's_aaa')).stdout, /> one/)
  const dry = JSON.parse((await agent('sessions', 'gc', '--dry-run', '--json')).stdout)
  assert.deepEqual(dry, { empty: [], expired: [], dry_run: true }) // s_bbb is not an hour old
  await agent('sessions', 'rm', 's_aaa')
  const gc = await agent('sessions', 'gc', '--days', '0')
  assert.match(gc.stdout, /0 empty sessions moved to the trash, 1 of the trash erased/)
  assert.match((await agent('sessions', 'trash')).stderr, /the trash is empty/)
})
