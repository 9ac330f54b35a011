import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { withJobs } from '../../test/job-bench.ts'
import { codeOf, textOf } from '../../test/tool-bench.ts'

const reason = execdMissing()
const options = { skip: reason ? `absent: execd (${reason})` : false }
const never = () => AbortSignal.timeout(60_000)
const file = (root: string, name: string) => readFileSync(join(root, name), 'utf8')
const go = (root: string) => writeFileSync(join(root, 'go'), '')
/** Says `ready`, then waits until the test lets it. */
const WAITS = 'echo ready; while [ ! -e go ]; do sleep 0.02; done; echo went'

test('a call is joined by its job: running, finished, never begun, and gone', options, () =>
  withJobs({}, async first => {
    const command = `echo x >> count; ${WAITS}`
    const { instance } = (await first.exec.health(never())) ?? { instance: '' }
    const started = { callId: first.callId() }
    const job = { scope: first.session.log.id, id: started.callId, instance }
    const dies = new AbortController()
    const began = Promise.withResolvers<void>()
    void first
      .call('bash', { command }, { ...started, progress: () => began.resolve(), signal: dies.signal })
      .catch(() => {})
    await began.promise

    const next = await first.successor()
    const joining = next.call('bash', { command }, { ...started, joins: job })
    go(first.root)
    assert.equal(textOf(await joining), 'ready\nwent')
    assert.equal(textOf(await next.call('bash', { command }, { ...started, joins: job })), 'ready\nwent')
    assert.equal(file(first.root, 'count'), 'x\n')
    assert.deepEqual(next.begun, [], 'what is joined has begun long ago')

    const never_begun = { ...job, id: next.callId() }
    const begun = await next.call(
      'bash',
      { command: 'echo y >> count' },
      { callId: next.callId(), joins: never_begun },
    )
    assert.equal(textOf(begun), '(no output)')
    assert.equal(file(first.root, 'count'), 'x\ny\n')

    const elsewhere = { ...job, id: next.callId(), instance: 'another' }
    const gone = await next.call('bash', { command: 'echo z >> count' }, { joins: elsewhere })
    assert.deepEqual([gone.outcome, codeOf(gone)], ['unknown', 'unknown_outcome'])
    assert.match(textOf(gone), /outcome unknown.*started anew/)
    assert.equal(file(first.root, 'count'), 'x\ny\n')
  }),
)

test('silence does not begin a command a second time', options, () =>
  withJobs({ silentMs: 50 }, async ({ root, call }) => {
    const started = await call('bash', { command: `echo x >> count; ${WAITS}` })
    assert.match(textOf(started), /running as job 1 after 50 ms without output/)
    for (let waits = 0; waits < 3; waits++) {
      assert.match(textOf(await call('bash_job', { timeout_ms: 60 })), /job 1 still runs/)
    }
    go(root)
    assert.match(textOf(await call('bash_job', {})), /job 1 ended: exit code 0/)
    assert.equal(file(root, 'count'), 'x\n')
  }),
)
