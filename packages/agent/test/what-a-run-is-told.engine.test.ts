/** What goes into a task beside its words, which session it is of, and the form of its answer. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==',
  'base64',
)
const SCHEMA = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
const GIVEN = { calls: [{ name: 'structured_output', input: { n: 7 } }] }

test('piped stdin comes first, then files, then the task; images go as images', async () => {
  await using bench = await agentBench(taskScript([{ text: 'Seen.' }]))
  bench.write('notes.txt', 'a note\n')
  writeFileSync(join(bench.workspace, 'dot.png'), PNG)
  const child = bench.start(['run', '--session-id', 's_1', 'look at', '@notes.txt', '@dot.png'])
  child.process.stdin.end('from the pipe\n')
  const { code, stderr } = await child.ended
  assert.equal(code, 0, stderr)
  const said = JSON.stringify(bench.seen[0]?.messages)
  const places = ['from the pipe', '<file name=', 'a note', 'look at'].map(part => said.indexOf(part))
  assert.ok(
    places.every(place => place >= 0),
    said,
  )
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  const log = await bench.agent(['export', 's_1', '-', '--format', 'jsonl'])
  assert.match(log.stdout, /"media_type":"image\/png"/)
})

test('piped text alone is a task; an empty pipe and no task is a mistake', async () => {
  await using bench = await agentBench(taskScript([{ text: 'Seen.' }]))
  const child = bench.start(['run'])
  child.process.stdin.end('do this\n')
  assert.equal((await child.ended).code, 0)
  assert.match(JSON.stringify(bench.seen[0]?.messages), /do this/)
  const nothing = await bench.agent(['run'])
  assert.deepEqual([nothing.code, bench.seen.length], [2, 1])
})

test('a pipe that nobody writes to is waited for a little beside a task, and that is said', async () => {
  await using bench = await agentBench(taskScript([{ text: 'Done.' }]))
  const { code, stderr } = await bench.start(['run', 'go']).ended
  assert.equal(code, 0)
  assert.match(stderr, /nothing came on stdin/)
})

for (const [title, args, says] of [
  ['a file that is not there', ['run', 'look', '@none.txt'], /@none\.txt.*ENOENT/],
  ['a binary file', ['run', 'look', '@binary'], /@binary.*binary/],
  ['a schema that is none', ['run', '--output-schema', '{"type":"strnig"}', 'go'], /--output-schema.*strnig/],
  [
    'a schema file that is not there',
    ['run', '--output-schema', 'none.json', 'go'],
    /--output-schema.*ENOENT/,
  ],
  ['two sessions at once', ['run', '--session', 'a', '--fork', 'b', 'go'], /--session and --fork each/],
  ['an unknown session', ['run', '--session', 's_none', 'go'], /s_none/],
  ['a blank name', ['run', '--name', ' ', 'go'], /--name/],
] as const)
  test(`${title}: exit 2, named, before any model is asked`, async () => {
    await using bench = await agentBench(taskScript([{ text: 'Never.' }]))
    writeFileSync(join(bench.workspace, 'binary'), Buffer.from([1, 0, 2]))
    const { code, stdout, stderr } = await bench.agent(args)
    assert.deepEqual([code, stdout, bench.seen.length], [2, '', 0], stderr)
    assert.match(stderr, says)
  })

test('--output-schema: the last line is the answer in its form, as text and as events', async () => {
  await using bench = await agentBench(taskScript([GIVEN]))
  const text = await bench.agent(['run', '--output-schema', SCHEMA, 'count'])
  assert.deepEqual([text.code, text.stdout], [0, '{"n":7}\n'], text.stderr)
  writeFileSync(join(bench.workspace, 'form.json'), SCHEMA)
  const json = await bench.agent([
    'run',
    '--json',
    '--output-schema',
    'form.json',
    '--output-description',
    'how many',
    'count',
  ])
  assert.deepEqual(JSON.parse(json.stdout.trimEnd().split('\n').at(-1) ?? ''), {
    kind: 'structured_output',
    value: { n: 7 },
  })
  assert.ok(bench.seen.at(-1)?.tools.includes('structured_output'))
})

test('a model that gives no payload: exit 1, and why', async () => {
  await using bench = await agentBench(() => ({ text: 'I will not.' }))
  const { code, stdout, stderr } = await bench.agent(['run', '--output-schema', SCHEMA, 'count'])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /without an answer in the form/)
})

test('--name, --session by a beginning, --fork: the copy goes on, its source stays as it was', async () => {
  await using bench = await agentBench(() => ({ text: 'Done.' }))
  await bench.agent(['run', '--session-id', 's_first', '--name', 'My  title', 'one'])
  const again = await bench.agent(['run', '--session', 's_fir', 'two'])
  assert.equal(again.code, 0, again.stderr)
  const fork = await bench.agent(['run', '--fork', 's_first', 'three'])
  assert.equal(fork.code, 0, fork.stderr)
  const asked = bench.seen.map(one => one.messages.filter(message => message.role === 'user').length)
  assert.deepEqual(asked, [1, 2, 3])
  const list = JSON.parse((await bench.agent(['sessions', 'list', '--json'])).stdout)
  const rows: { id: string; title: string; message_count: number; parent?: string }[] = list.sessions
  const first = rows.find(row => row.id === 's_first')
  const copy = rows.find(row => row.id !== 's_first')
  assert.deepEqual([first?.title, first?.message_count, copy?.message_count], ['My title', 4, 6])
  assert.equal(copy?.parent, 's_first')
})

test('--export writes the page also after a failed run', async () => {
  const fault = { kind: 'status', status: 400, message: 'no such thing' } as const
  await using bench = await agentBench(taskScript([{ fault }]))
  const { code } = await bench.agent(['run', '--export', 'out.html', 'go on <now>'])
  assert.equal(code, 1)
  assert.match(readFileSync(join(bench.workspace, 'out.html'), 'utf8'), /go on &lt;now&gt;/)
})
