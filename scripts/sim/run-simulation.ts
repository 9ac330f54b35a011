/** A simulation is a row of small worlds, each from its own number, so that what one of them shows is replayed in seconds. */
import { messageOf } from '@beige/protocol'
import type { Violation } from '../session-proof/check-session.ts'
import { type EpisodeResult, runEpisode } from './world/episode.ts'
import { FAULTS, type FaultCounts, noFaults } from './world/faults.ts'
import type { Plant } from './world/replica.ts'

export type SimulationParts = {
  seed: number
  turns: number
  /** Only this one, as it was in a run of the same seed. */
  episode: number | null
  plant: Plant
  /** Gets the events of the episodes. */
  trace: ((line: string) => void) | null
  /** Called after each episode. */
  progress(turns: number): void
}

export type SimulationResult = {
  turns: number
  violations: readonly Violation[]
  unexpected: readonly string[]
  faults: FaultCounts
  clients: EpisodeResult['clients']
  takeovers: number
  effects: number
  /** Where it ended early, because of what it had found. */
  failedEpisode: number | null
  traceHash: string
  events: number
}

export const EPISODE_TURNS = 500
const MEMORY_EVERY = 10 // episodes; the others have the store `files`

export async function runSimulation(parts: SimulationParts): Promise<SimulationResult> {
  const { seed, plant, trace } = parts
  const result: SimulationResult = {
    ...{ turns: 0, violations: [], unexpected: [], faults: noFaults(), takeovers: 0, effects: 0 },
    clients: { aborts: 0, duplicates: 0, retries: 0 },
    ...{ failedEpisode: null, traceHash: '', events: 0 },
  }
  const hashes: string[] = []
  let number = parts.episode ?? 0
  while (result.turns < parts.turns && result.failedEpisode === null) {
    const turns = Math.min(EPISODE_TURNS, parts.turns - result.turns)
    const store = number % MEMORY_EVERY === MEMORY_EVERY - 1 ? 'memory' : 'files'
    try {
      const one = await runEpisode({ seed, number, turns, store, plant, print: trace })
      add(result, one)
      hashes.push(one.traceHash)
      if (one.violations.length + one.unexpected.length > 0) result.failedEpisode = number
    } catch (error) {
      result.unexpected = [...result.unexpected, messageOf(error)]
      result.failedEpisode = number
    }
    parts.progress(result.turns)
    number++
  }
  result.traceHash = hashes.length === 1 ? (hashes[0] ?? '') : joined(hashes)
  return result
}

function add(sum: SimulationResult, one: EpisodeResult): void {
  sum.turns += one.turns
  sum.violations = [...sum.violations, ...one.violations]
  sum.unexpected = [...sum.unexpected, ...one.unexpected]
  for (const fault of FAULTS) sum.faults[fault] += one.faults[fault]
  sum.clients.aborts += one.clients.aborts
  sum.clients.duplicates += one.clients.duplicates
  sum.clients.retries += one.clients.retries
  sum.takeovers += one.takeovers
  sum.effects += one.effects
  sum.events += one.events
}

function joined(hashes: readonly string[]): string {
  let sum = 0
  for (const hash of hashes) sum = (Math.imul(sum, 31) + Number.parseInt(hash.slice(8), 16)) >>> 0
  return sum.toString(16).padStart(8, '0')
}

/** One line: how often each kind of fault was. */
export function faultsLine({ faults }: Pick<SimulationResult, 'faults'>): string {
  return FAULTS.map(fault => `${fault} ${faults[fault]}`).join(', ')
}
