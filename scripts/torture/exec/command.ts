/**
 * `npm run torture -- exec --count N --seed S [--first N] [--on execd,docker] [--lanes N]`: random process trees, aborted
 * at random moments. Its last line says how many there were, what is left of them, and how long an abort took.
 */
import { parseArgs } from 'node:util'
import { lastLine, splitLine, withinBounds } from './report.ts'
import { runTrees } from './run-trees.ts'
import { openTarget, TARGETS, type TargetName } from './targets.ts'

export const EXEC_USAGE =
  'npm run torture -- exec [--count n] [--seed n] [--first n] [--on name,…] [--lanes n]\n'
const DEFAULT_LANES = 4

/** Answers with the exit code. */
export async function tortureExec(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '500' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      first: { type: 'string', default: '0' },
      lanes: { type: 'string', default: String(DEFAULT_LANES) },
      on: { type: 'string' },
    },
  })
  const [count, seed, first, lanes] = [values.count, values.seed, values.first, values.lanes].map(Number)
  const wanted = values.on?.split(',')
  const unknown = wanted?.find(name => !TARGETS.some(target => target === name))
  const areNumbers = [count, seed, first, lanes].every(
    number => Number.isSafeInteger(number) && Number(number) >= 0,
  )
  if (positionals.length > 0 || !areNumbers || !count || !lanes || unknown !== undefined) {
    process.stderr.write(`usage: ${EXEC_USAGE}`)
    return 2
  }

  const say = (text: string): void => void process.stderr.write(`${text}\n`)
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())

  const targets: TargetName[] = []
  for (const name of TARGETS.filter(name => wanted === undefined || wanted.includes(name))) {
    try {
      await using _ = await openTarget(name, lanes, interrupted.signal)
      targets.push(name)
    } catch (error) {
      say(`${name}: left out, ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (targets.length === 0) return 1
  say(`seed ${seed}, on ${targets.join(', ')}, ${lanes} at once on each`)
  const result = await runTrees({
    count,
    seed: seed ?? 0,
    first: first ?? 0,
    lanes,
    targets,
    say,
    signal: interrupted.signal,
  })
  process.stdout.write(`${splitLine(result)}\n${lastLine(result)}\n`)
  return result.left === 0 && result.trees === count && withinBounds(result) ? 0 : 1
}
