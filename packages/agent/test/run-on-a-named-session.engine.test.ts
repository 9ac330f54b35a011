/** `run --session`, `--fork` and `--export`: the real command on sessions that are there. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lastPrompt } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'

test('--session opens by a beginning or a path, --fork copies, and the page is written after a failed run too', async () => {
  await using bench = await agentBench(request =>
    lastPrompt(request).startsWith('fail')
      ? { fault: { kind: 'status', status: 400, message: 'no' } }
      : { text: `did ${lastPrompt(request).split('\n')[0]}` },
  )
  await bench.agent(['run', '--session-id', 'first-1', 'one'])
  const second = await bench.agent(['run', '--session', 'first', 'two'])
  assert.deepEqual([second.code, second.stdout], [0, 'did two\n'])
  assert.equal(bench.seen.at(-1)?.messages.length, 3)

  const page = join(bench.home, 'page.html')
  const list = async () =>
    JSON.parse((await bench.agent(['sessions', 'list', '--all', '--json'])).stdout).sessions
  const copied = await bench.agent(['run', '--fork', 'first-1', '--export', page, 'three'])
  assert.equal(copied.code, 0, copied.stderr)
  assert.equal(bench.seen.at(-1)?.messages.length, 5)
  const [copy, source] = await list()
  assert.deepEqual(
    [source.id, source.message_count, copy.parent, copy.message_count],
    ['first-1', 4, 'first-1', 6],
  )
  assert.match(readFileSync(page, 'utf8'), /did three/)

  const failed = await bench.agent(['run', '--session', copy.id, '--export', page, 'fail now'])
  assert.equal(failed.code, 1)
  assert.match(readFileSync(page, 'utf8'), /fail now.*Run failed/s)

  for (const [args, says] of [
    [['--session', 'nothing'], /no session is called nothing/],
    [['--session', 'first', '--fork', 'first'], /--session and --fork each name a session/],
    [['--session', 'first', '--session-id', 'x'], /--session and --session-id/],
    [['--fork', './nowhere'], /holds no session log/],
  ] as const) {
    const { code, stderr } = await bench.agent(['run', ...args, 'go'])
    assert.equal(code, 2, stderr)
    assert.match(stderr, says)
  }
  assert.equal((await list()).length, 2)
})
