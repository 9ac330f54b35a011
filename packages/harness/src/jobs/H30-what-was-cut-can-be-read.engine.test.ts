import assert from 'node:assert/strict'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { withJobs } from '../../test/job-bench.ts'
import { codeOf, textOf } from '../../test/tool-bench.ts'

const reason = execdMissing()
const options = { skip: reason ? `absent: execd (${reason})` : false }
const HANDLE = /\[… .* left out here; read (\/session\/spill\/\S+) shows any part of it …\]/

/** The line that `read` numbers so, without its number. */
const lineOf = (text: string, number: number) =>
  text
    .split('\n')
    .map(line => /^ *(\d+)\t(.*)$/.exec(line))
    .find(found => Number(found?.[1]) === number)?.[2]

for (const tool of ['bash', 'exec']) {
  test(`H30-the-whole-output-of-${tool}: read by its handle, also by the next owner`, options, () =>
    withJobs({}, async first => {
      const result = await first.call(tool, { command: 'seq 1 100000' })
      const path = HANDLE.exec(textOf(result))?.[1] ?? ''
      const next = await first.successor()
      for (const owner of [first, next]) {
        const whole = textOf(await owner.call('read', { path, limit: 3 }))
        assert.equal(whole, '     1\t1\n     2\t2\n     3\t3\n[lines 1-3 of more; continue with offset=4]')
        const middle = textOf(await owner.call('read', { path, offset: 50_000, limit: 2 }))
        assert.equal(lineOf(middle, 50_001), '50001')
        const end = await owner.call('read', { path, offset: 99_999 })
        assert.match(textOf(end), /^ 99999\t99999\n100000\t100000$/)
      }
      assert.equal(codeOf(await next.call('read', { path, offset: 100_001 })), 'invalid_input')
    }),
  )
}

test(
  'H30-the-handle-of-a-numbered-job: while it runs, after it was waited for, and when its sandbox is gone',
  options,
  () =>
    withJobs({ silentMs: 200 }, async ({ call, kill }) => {
      const started = await call('bash', {
        command: 'seq 1 9000; read -r line; seq 1 9000',
        stdin_open: true,
      })
      const path = HANDLE.exec(textOf(started))?.[1] ?? ''
      assert.match(
        textOf(await call('read', { path, offset: 9000 })),
        /^ {2}9000\t9000\n\[the command still runs\]$/,
      )
      await call('bash_job', { action: 'stdin', eof: true })
      const waited = textOf(await call('bash_job', {}))
      assert.equal(HANDLE.exec(waited)?.[1], path, 'one handle for all that it said')
      assert.match(textOf(await call('read', { path, offset: 18_000 })), /^ 18000\t9000$/)
      const unknown = await call('read', { path: '/session/spill/c_none' })
      assert.deepEqual(
        [codeOf(unknown), /no \/session\/spill\/c_none/.test(textOf(unknown))],
        ['not_found', true],
      )
      kill()
      await assert.rejects(call('read', { path }), { code: 'endpoint_unreachable' })
    }),
)
