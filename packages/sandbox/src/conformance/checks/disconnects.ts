/** A closed connection ends what ran for it, however that tries to stay. */
import { type Bench, TICK } from '../bench.ts'
import { type Check, expect } from '../check.ts'

const LOOP = `sh -c '${TICK}' sh "$1" >/dev/null 2>&1`

export const disconnectChecks: readonly Check[] = [
  killed('disconnect kills the group', [], `${LOOP} & ${TICK}`),
  killed('disconnect kills double-forked children', [], `(${LOOP} &) ; sleep 60`),
  killed('disconnect kills setsid children', ['setsid'], `setsid ${LOOP} & sleep 60`),
  // What nohup does, where the program is missing.
  killed(
    'disconnect kills nohup children',
    [],
    `if command -v nohup >/dev/null; then nohup ${LOOP} & else (trap "" HUP; ${LOOP}) & fi; sleep 60`,
  ),
  killed(
    'disconnect kills what ignores SIGTERM',
    ['setsid'],
    `setsid sh -c 'trap "" TERM HUP; ${TICK}' sh "$1" >/dev/null 2>&1 & sleep 60`,
  ),
]

function killed(name: string, programs: readonly string[], script: string): Check {
  return {
    name,
    features: ['stream'],
    programs: ['sh', 'sleep', 'cat', ...programs],
    async run(bench) {
      const file = bench.path('ticks')
      await leave(bench, script, file)
      await bench.untilStill(file)
    },
  }
}

async function leave(bench: Bench, script: string, file: string): Promise<void> {
  const reader = await bench.stream(bench.sh(script, file))
  await reader.nextOf('start')
  await bench.untilTicking(file)
  expect(!(await bench.isStill(file)), 'the command ended by itself')
  reader.close()
}
