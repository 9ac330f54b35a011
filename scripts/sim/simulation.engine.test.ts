/** Turns on a fixed seed and on one that nobody has seen before; SIM_TURNS=20000 tries more (minutes, so it is no unit test). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plants } from './plants.ts'
import { EPISODE_TURNS, faultsLine, runSimulation } from './run-simulation.ts'
import { FAULTS } from './world/faults.ts'

const TURNS = Number(process.env.SIM_TURNS ?? 5000)
const SEEDS = { fixed: 1, random: Number(process.env.SIM_SEED ?? Date.now() % 1_000_000_000) }

for (const [name, seed] of Object.entries(SEEDS)) {
  test(`${TURNS} turns on a ${name} seed`, { timeout: 1_200_000 }, async t => {
    t.diagnostic(`seed ${seed}`)
    const quiet = { episode: null, trace: null, progress: () => {} }
    const result = await runSimulation({ seed, turns: TURNS, plant: plants.none(), ...quiet })
    t.diagnostic(faultsLine(result))
    const again = `npm run sim -- --seed ${seed} --episode ${result.failedEpisode} --turns ${EPISODE_TURNS}`
    assert.deepEqual([...result.violations, ...result.unexpected], [], again)
    assert.equal(result.turns, TURNS)
    for (const fault of FAULTS) assert.ok(result.faults[fault] > 0, fault)
  })
}
