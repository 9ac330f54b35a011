/**
 * `npm run sim -- --seed N --turns M [--trace]`: the production code of stores, leases, host and turn loop in simulated
 * processes on a simulated clock, disk and network, and what their clients were told held against what is left.
 */
import { parseArgs } from 'node:util'
import { countsText } from '../session-proof/counts-text.ts'
import { isPlantName, PLANT_NAMES, plants } from './plants.ts'
import { EPISODE_TURNS, faultsLine, runSimulation } from './run-simulation.ts'

const USAGE = `usage: npm run sim -- [--seed N] [--turns M] [--trace] [--episode K] [--plant NAME]

  --seed N      a whole number; without it one is chosen and said
  --turns M     how many prompts have their answer (default 20000)
  --trace       prints each event
  --episode K   only this one: what a failing run says to repeat it
  --plant NAME  a bug, to see it caught: ${PLANT_NAMES.join(', ')}

examples:
  npm run sim -- --seed 1 --turns 200000
  npm run sim -- --seed 7 --episode 12 --turns ${EPISODE_TURNS} --trace
  npm run sim -- --turns 2000 --plant skip-fsync
`
const SHOWN = 20
const NEWLY_CHOSEN = 1_000_000_000

const options = {
  seed: { type: 'string' },
  turns: { type: 'string', default: '20000' },
  episode: { type: 'string' },
  plant: { type: 'string' },
  trace: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

function refuse(text: string): never {
  process.stderr.write(`sim: ${text}\n\n${USAGE}`)
  process.exit(2)
}

function parsed() {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

function whole(name: string, text: string, least: number): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < least)
    return refuse(`--${name} ${text} is not a whole number of ${least} or more`)
  return number
}

const values = parsed()
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
const seed = whole('seed', values.seed ?? String(Date.now() % NEWLY_CHOSEN), 0)
const turns = whole('turns', values.turns, 1)
const episode = values.episode === undefined ? null : whole('episode', values.episode, 0)
const plant = values.plant ?? 'none'
if (!isPlantName(plant)) refuse(`there is no plant ${plant}`)

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const beganMs = performance.now()
say(`seed ${seed}`)
const result = await runSimulation({
  ...{ seed, turns, episode, plant: plants[plant]() },
  trace: values.trace ? say : null,
  progress: done => {
    if (process.stderr.isTTY) process.stderr.write(`\r${done} turns`)
  },
})
if (process.stderr.isTTY) process.stderr.write('\r')
const seconds = (performance.now() - beganMs) / 1000
for (const one of result.violations.slice(0, SHOWN)) say(`${one.kind} in ${one.session}: ${one.says}`)
for (const text of result.unexpected.slice(0, SHOWN)) say(`unexpected: ${text}`)
if (result.failedEpisode !== null) {
  const planted = plant === 'none' ? '' : ` --plant ${plant}`
  const what = `--seed ${seed} --episode ${result.failedEpisode} --turns ${EPISODE_TURNS}${planted}`
  say(`to see it again: npm run sim -- ${what} --trace`)
}
say(`${(result.turns / seconds).toFixed(0)} turns/s, ${result.events} events, trace ${result.traceHash}`)
const { aborts, duplicates, retries } = result.clients
say(`clients: ${aborts} aborts, ${duplicates} repeated or raced keys, ${retries} tries again`)
say(`${result.takeovers} takeovers, ${result.effects} effects`)
say(`faults: ${faultsLine(result)}`)
say(`sim: ${result.turns} turns, ${countsText(result.violations)}`)
process.exitCode = result.failedEpisode === null ? 0 : 1
