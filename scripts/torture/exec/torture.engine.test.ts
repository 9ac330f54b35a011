/** H20, at random: 500 trees aborted in the middle of their growth, and nothing of them is left. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { findExecd } from '@beige/sandbox'
import { lastLine } from './report.ts'
import { runTrees } from './run-trees.ts'
import { openTarget, TARGETS, type TargetName } from './targets.ts'

const COUNT = Number(process.env.TORTURE_COUNT ?? 500)
const SEED = Number(process.env.TORTURE_SEED ?? 20_251)
/** Bare execd gets most of them; a sandbox starts slowly and costs more. */
const SHARES: Readonly<Record<TargetName, number>> = { execd: 0.6, bubblewrap: 0.2, docker: 0.2 }
const LANES: Readonly<Record<TargetName, number>> = { execd: 4, bubblewrap: 2, docker: 2 }

for (const [index, name] of TARGETS.entries()) {
  const skip = await absence(name)
  test(`aborted trees leave nothing (${name})`, { skip, timeout: 600_000 }, async t => {
    const said: string[] = []
    const count = Math.ceil(COUNT * SHARES[name])
    const result = await runTrees({
      count,
      seed: SEED,
      first: index * COUNT,
      targets: [name],
      lanes: LANES[name],
      say: text => void said.push(text),
      signal: t.signal,
    })
    t.diagnostic(lastLine(result))
    assert.deepEqual([result.trees, result.left], [count, 0], said.join('\n'))
  })
}

async function absence(name: TargetName): Promise<string | false> {
  try {
    findExecd()
    await using _ = await openTarget(name, 99, AbortSignal.timeout(60_000))
    return false
  } catch (error) {
    return `absent: ${name} (${error instanceof Error ? error.message : String(error)})`
  }
}
