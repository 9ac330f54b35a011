/** Two owners of one session on one real execd: once the second has spoken, the first does nothing more there. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { type JobBench, withJobs } from '../test/job-bench.ts'
import { textOf } from '../test/tool-bench.ts'

const reason = execdMissing()
const options = { skip: reason ? `absent: execd (${reason})` : false }

/** Everything that an owner may do in its sandbox. */
const WAYS: readonly { name: string; input: object }[] = [
  { name: 'bash', input: { command: 'echo old > trace' } },
  { name: 'bash', input: { command: 'echo old > trace', run_in_background: true } },
  { name: 'exec', input: { args: ['touch', 'trace'] } },
  { name: 'write', input: { path: 'trace', content: 'old' } },
  { name: 'edit', input: { path: 'there', old_string: 'a', new_string: 'b' } },
  { name: 'read', input: { path: 'there' } },
  { name: 'ls', input: {} },
  { name: 'grep', input: { pattern: 'a' } },
  { name: 'bash_job', input: { action: 'kill', job: 1 } },
  { name: 'bash_job', input: { action: 'output', job: 1 } },
]

const saidBy = ({ call }: JobBench, { name, input }: (typeof WAYS)[number]) =>
  call(name, input).then(textOf, (error: unknown) => String(error))

test('a paused owner is refused after its successor has spoken', options, () =>
  withJobs({}, async first => {
    writeFileSync(join(first.root, 'there'), 'a\n')
    await first.call('bash', { command: 'sleep 1000', run_in_background: true })
    const next = await first.successor()
    assert.equal(
      textOf(await first.call('bash', { command: 'echo unheard' })),
      'unheard',
      'nobody has spoken',
    )

    await next.call('ls', {})
    for (const way of WAYS) assert.match(await saidBy(first, way), /another one has taken over/, way.name)
    assert.equal(existsSync(join(first.root, 'trace')), false)
    assert.equal(readFileSync(join(first.root, 'there'), 'utf8'), 'a\n')

    const state = await next.exec.jobState(
      { id: next.jobs.all.get(1)?.id ?? '', scope: next.jobs.scope },
      AbortSignal.timeout(10_000),
    )
    assert.equal(state.state, 'running', 'the job of the session goes on')
    assert.match(await saidBy(next, { name: 'bash_job', input: { action: 'kill' } }), /job 1 ended/)
  }),
)
