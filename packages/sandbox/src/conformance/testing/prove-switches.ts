/** Proves the kit on an endpoint that is wrong in one way: exactly the checks fail that must. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Defect, startWrongExecEndpoint } from '@beige/test-support'
import { type ConformanceReport, runConformance } from '../index.ts'

/** Most of a kit's time is waiting. */
const ENDPOINTS_AT_ONCE = 2
const CHECKS_AT_ONCE = 8

// A switch takes half a minute, mostly of waiting: one of each family by default, all of them with KIT_SWITCHES=all.
const SWITCHES = process.env.KIT_SWITCHES === 'all' ? Number.POSITIVE_INFINITY : 1

export type Expected = Readonly<Partial<Record<Defect, readonly string[]>>>

export function proveSwitches(expected: Expected): void {
  test('each switch fails exactly its checks (KIT_SWITCHES=all for every one)', {
    concurrency: ENDPOINTS_AT_ONCE,
  }, async t => {
    const proofs = Object.entries(expected)
      .slice(0, SWITCHES)
      .map(([defect, names]) =>
        t.test(defect, async () => {
          const report = await reportOf([defect as Defect])
          const failed = report.checks.filter(check => check.outcome === 'failed')
          assert.deepEqual(
            failed.map(check => check.name),
            names,
            JSON.stringify(failed, null, 2),
          )
        }),
      )
    await Promise.all(proofs)
  })
}

export async function reportOf(defects: readonly Defect[]): Promise<ConformanceReport> {
  await using wrong = await startWrongExecEndpoint(defects)
  const endpoint = { kind: 'url', url: wrong.url, headers: wrong.headers } as const
  return await runConformance({ endpoint, atOnce: CHECKS_AT_ONCE })
}
