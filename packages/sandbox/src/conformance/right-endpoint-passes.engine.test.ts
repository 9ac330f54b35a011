/** An endpoint that is right in Node passes the kit, as execd does; without `/health` the base request is checked alone. */
import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import { test } from 'node:test'
import { startWrongExecEndpoint } from '@beige/test-support'
import { runConformance } from './index.ts'
import { reportOf } from './testing/prove-switches.ts'

test('without a switch every check passes', async () => {
  const report = await reportOf([])
  assert.deepEqual(
    report.checks.filter(check => check.outcome !== 'ok').map(check => [check.name, check.outcome]),
    [['run-as cannot read the token', 'skipped']],
  )
  assert.ok(report.passed >= 70)
  assert.equal(new Set(report.checks.map(check => check.name)).size, report.checks.length)
})

test('an endpoint without /health is checked by the base request alone', async () => {
  await using whole = await startWrongExecEndpoint()
  const base = createServer((incoming, outgoing) => {
    if (incoming.url !== '/') return void outgoing.writeHead(404).end()
    const passed = request(
      whole.url,
      { method: incoming.method ?? 'GET', headers: { ...incoming.headers, ...whole.headers } },
      answer => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(outgoing)
      },
    )
    incoming.pipe(passed)
  })
  await new Promise<void>(resolve => base.listen(0, '127.0.0.1', resolve))
  try {
    const address = base.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const report = await runConformance({ endpoint: { kind: 'url', url, headers: {} }, atOnce: 8 })
    assert.equal(report.health, null)
    assert.deepEqual(
      report.checks.filter(check => check.outcome === 'failed'),
      [],
    )
    assert.ok(report.passed >= 20, `${report.passed} passed`)
    const skipped = report.checks.find(check => check.name === 'file round trip of 8 MiB')
    assert.deepEqual(skipped && 'reason' in skipped && skipped.reason, 'no /health, so no feature "files"')
  } finally {
    base.close()
    base.closeAllConnections()
  }
})
