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

test('a command is a job named by its call, written down before it has its effect', options, () =>
  withJobs({}, async ({ call, begun, callId, session, exec, jobs }) => {
    const id = callId()
    const result = await call('bash', { command: 'echo hi; exit 3' }, { callId: id })
    assert.equal(textOf(result), 'hi\n[exit code 3]')
    assert.deepEqual(
      begun.map(job => [job?.id, job?.scope]),
      [[id, session.log.id]],
    )
    assert.equal((await exec.jobState({ id, scope: session.log.id }, never())).exit_code, 3)
    assert.equal(jobs.all.size, 0)
  }),
)

for (const [tool, background] of [
  ['bash', { run_in_background: true }],
  ['exec', { background: true }],
] as const) {
  test(`${tool}: in the background it is a numbered job at once`, options, () =>
    withJobs({}, async ({ root, call, custom }) => {
      const ask = (input: object) => call(tool === 'bash' ? 'bash_job' : 'exec', input)
      const started = await call(tool, { command: WAITS, ...background })
      assert.match(textOf(started), /\[running as job 1; .* waits for it/)
      assert.deepEqual([started.isError, started.details.job], [false, 1])
      assert.match(textOf(await ask({ action: 'list' })), /^Jobs:\n1 {2}running .* {2}echo ready; while/)
      const waiting = ask({ job: 1 })
      go(root)
      assert.match(textOf(await waiting), /went\n\[job 1 ended: exit code 0 after .*\]$/)
      assert.equal(custom('beige.job').length, 2)
      const all = await ask({ job: 1, action: 'output' })
      assert.match(textOf(all), /^ready\nwent\n\[bytes 0 to 11, counted from 0; that is all so far/)
      const part = await ask({ job: 1, action: 'output', limit: 1 })
      assert.match(textOf(part), /^ready\n\[bytes 0 to 6, .* go on with offset=6;/)
      assert.match(textOf(await ask({ job: 1, action: 'output', offset: 6 })), /^went\n/)
      assert.match(textOf(await ask({ action: 'list' })), /1 {2}exit code 0/)
      const unknown = await ask({ job: 9 })
      assert.deepEqual([codeOf(unknown), /no job 9\. Jobs:\n1 /.test(textOf(unknown))], ['not_found', true])
    }),
  )
}

test('silent for long, it becomes a job with what it said so far', options, () =>
  withJobs({ silentMs: 150 }, async ({ root, call }) => {
    const result = await call('bash', { command: WAITS })
    assert.match(
      textOf(result),
      /^ready\n\[running as job 1 after 150 ms without output; bash_job waits for it or kills it\]$/,
    )
    go(root)
    assert.match(textOf(await call('bash_job', {})), /^went\n\[job 1 ended: exit code 0/)
  }),
)

test('in a session that does not last, a command is kept only when it becomes a job', options, () =>
  withJobs({ keep: false }, async ({ root, call, callId, exec, session }) => {
    const kept = async (id: string) => (await exec.jobState({ id, scope: session.log.id }, never())).kept
    const [once, long] = [callId(), callId()]
    await call('bash', { command: 'true' }, { callId: once })
    assert.equal(await kept(once), false)
    await call('bash', { command: WAITS, run_in_background: true }, { callId: long })
    assert.equal(await kept(long), true)
    go(root)
    assert.match(textOf(await call('bash_job', {})), /went\n\[job 1 ended/)
  }),
)

test('past its timeout it becomes a job and goes on', options, () =>
  withJobs({}, async ({ root, call }) => {
    const result = await call('bash', { command: WAITS, timeout_ms: 150 })
    assert.match(textOf(result), /\[running as job 1 past its timeout of 150 ms;/)
    const still = await call('bash_job', { timeout_ms: 50 })
    assert.match(textOf(still), /\[job 1 still runs after 50 ms more; /)
    go(root)
    assert.match(textOf(await call('bash_job', {})), /went\n\[job 1 ended: exit code 0/)
  }),
)

test('H20 a job is killed with all that it started, and the same when repeated', options, () =>
  withJobs({}, async ({ root, call }) => {
    const command = 'setsid sleep 1000 & echo $! > pid; echo ready; sleep 1000'
    await call('bash', { command, run_in_background: true })
    const deadline = Date.now() + 10_000
    for (let all = ''; !all.startsWith('ready'); assert.ok(Date.now() < deadline)) {
      all = textOf(await call('bash_job', { action: 'output' }))
    }
    const killed = await call('bash_job', { action: 'kill' })
    assert.match(textOf(killed), /^(ready\n)?\[job 1 ended: killed by SIG(TERM|KILL) after /)
    assert.throws(() => process.kill(Number(file(root, 'pid')), 0))
    assert.match(textOf(await call('bash_job', { action: 'kill', job: 1 })), /\[job 1 ended: killed by SIG/)
  }),
)

test('H20 an abort of a command that is a job leaves nothing running', options, () =>
  withJobs({}, async ({ root, call, jobs }) => {
    const abort = new AbortController()
    const command = 'setsid sleep 1000 & echo $! > pid; echo ready; sleep 1000'
    const progress = (newest: () => string) => {
      const snapshot = newest()
      if (snapshot.includes('ready')) abort.abort()
    }
    const result = await call('bash', { command }, { signal: abort.signal, progress })
    assert.deepEqual([result.outcome, textOf(result)], ['interrupted', 'ready\n[interrupted]'])
    assert.throws(() => process.kill(Number(file(root, 'pid')), 0))
    assert.equal(jobs.all.size, 0)
  }),
)

test('what ended by itself is told once, at the next boundary', options, () =>
  withJobs({}, async ({ root, call, jobs, custom }) => {
    await call('bash', { command: WAITS, run_in_background: true })
    await call('bash', { command: 'echo seen', run_in_background: true })
    await call('bash_job', { job: 2 }) // its end is the result of this call
    await jobs.boundary(never())
    assert.deepEqual(custom('beige.notice'), [])
    go(root)
    const deadline = Date.now() + 10_000
    while (!jobs.all.get(1)?.ended) {
      assert.ok(Date.now() < deadline)
      await new Promise(resolve => setImmediate(resolve))
    }
    await jobs.boundary(never())
    await jobs.boundary(never())
    const notices = custom('beige.notice')
    assert.equal(notices.length, 1)
    assert.match(
      JSON.stringify(notices),
      /Background job 1 ended: exit code 0 after .*Command: echo ready.*went/,
    )
  }),
)

test('the next owner watches what the last one left, and is told of what ended meanwhile', options, () =>
  withJobs({}, async first => {
    await first.call('bash', { command: WAITS, run_in_background: true })
    await first.call('bash', { command: 'echo meanwhile', run_in_background: true })
    await first.jobs.close()
    const next = await first.successor()
    await next.jobs.boundary(never())
    go(first.root)
    const waited = await next.call('bash_job', { job: 1 })
    assert.match(textOf(waited), /ready\nwent\n\[job 1 ended: exit code 0/)
    await next.call('bash', { command: 'true', run_in_background: true })
    assert.equal(next.jobs.all.size, 3, 'numbers go on')
    await next.call('bash_job', { job: 2 })
  }),
)

test('H30 a job whose output nobody could keep is bounded, and says how much is missing', options, () =>
  withJobs({}, async ({ call }) => {
    const result = await call('bash', { command: 'head -c 67108864 /dev/zero | tr "\\0" x; echo; echo end' })
    const text = textOf(result)
    assert.ok(Buffer.byteLength(text) <= 51_200)
    assert.ok(text.endsWith('x\nend'))
    assert.equal(result.details.output_bytes, 67_108_864 + 5)
  }),
)

for (const [tool, open] of [
  ['bash', { stdin_open: true, run_in_background: true }],
  ['exec', { stdinOpen: true, background: true }],
] as const) {
  test(`${tool}: a job is written to, and its stdin closed`, options, () =>
    withJobs({}, async ({ call, begun }) => {
      const ask = (input: object) => call(tool === 'bash' ? 'bash_job' : 'exec', { job: 1, ...input })
      const command = 'while read -r line; do echo "<$line>"; done; echo end'
      await call(tool, { command, ...open })
      const writes = begun.length
      assert.match(
        textOf(await ask({ action: 'stdin', text: 'an é\n"b" $c\n' })),
        /^wrote 13 bytes to the stdin of job 1; /,
      )
      assert.equal(begun.length, writes + 1, 'after a takeover it is not written again')
      assert.equal(codeOf(await ask({ action: 'stdin' })), 'invalid_input')
      assert.match(textOf(await ask({ action: 'stdin', eof: true })), /^closed the stdin of job 1; /)
      assert.equal(
        textOf(await ask({})).replace(/after.*/, ''),
        '<an é>\n<"b" $c>\nend\n[job 1 ended: exit code 0 ',
      )
      const late = await ask({ action: 'stdin', text: 'x' })
      assert.deepEqual(
        [codeOf(late), textOf(late).replace(/after.*/, '')],
        ['invalid_input', 'nobody reads it: job 1 ended: exit code 0 '],
      )
    }),
  )
}

test('stdin of a job: closed from the start, and not read', options, () =>
  withJobs({}, async ({ call }) => {
    await call('bash', { command: 'sleep 1000', run_in_background: true })
    const closed = await call('bash_job', { action: 'stdin', job: 1, text: 'x' })
    assert.equal(codeOf(closed), 'invalid_input')
    assert.match(textOf(closed), /only a command that bash started with stdin_open: true takes input/)
    await call('bash', { command: 'sleep 1000', run_in_background: true, stdin_open: true })
    const text = 'x'.repeat(1024 * 1024) // more than a pipe holds
    const unread = await call('bash_job', { action: 'stdin', job: 2, text, timeout_ms: 300 })
    assert.deepEqual(
      [codeOf(unread), /did not read all of its stdin/.test(textOf(unread))],
      ['timeout', true],
    )
    const long = { command: `: ${'x'.repeat(130_000)}`, stdin_open: true }
    assert.equal(codeOf(await call('bash', long)), 'invalid_input')
    for (const job of [1, 2]) await call('bash_job', { action: 'kill', job })
  }),
)

test('a word for the model makes a job of a command that has run for a while, and ends a wait', options, () =>
  withJobs({ steeredMs: 300 }, async ({ root, call }) => {
    const word = Promise.withResolvers<void>()
    const steered = () => word.promise
    const before = call('bash', { command: 'echo short; sleep 0.05' }, { steered })
    const running = call('bash', { command: WAITS }, { steered })
    word.resolve()
    assert.equal(textOf(await before), 'short', 'one that ends by itself is no job')
    const started = textOf(await running)
    assert.match(
      started,
      /^ready\n\[running as job 1 after \d+ ms, since somebody has a word for you; bash_job/,
    )
    const waited = await call('bash_job', { timeout_ms: 600_000 }, { steered })
    assert.match(
      textOf(waited),
      /^\[job 1 still runs after .* more, and somebody has a word for you; bash_job/,
    )
    go(root)
    assert.match(textOf(await call('bash_job', {})), /^went\n\[job 1 ended: exit code 0/)
  }),
)
