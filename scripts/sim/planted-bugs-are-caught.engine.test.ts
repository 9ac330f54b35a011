/** A simulator that does not see a bug that is there proves nothing (it takes a minute, so it is no unit test). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Violation } from '../session-proof/check-session.ts'
import { PLANT_NAMES, type PlantName, plants } from './plants.ts'
import { runSimulation } from './run-simulation.ts'

const TURNS = 2000

/** What each bug must be seen as, among others. */
const SEEN_AS: Readonly<Record<Exclude<PlantName, 'none'>, Violation['kind']>> = {
  'skip-fsync': 'lost',
  'skip-fence-check': 'lost',
  'ack-before-commit': 'lost',
  'reuse-call-id': 'duplicated',
  'drop-prev': 'forked',
}

for (const name of PLANT_NAMES) {
  test(`${name} is caught within ${TURNS} turns`, async () => {
    const quiet = { episode: null, trace: null, progress: () => {} }
    const result = await runSimulation({ seed: 20_261, turns: TURNS, plant: plants[name](), ...quiet })
    const kinds = new Set(result.violations.map(one => one.kind))
    assert.ok(kinds.has(SEEN_AS[name]), [...kinds].join(', '))
  })
}
