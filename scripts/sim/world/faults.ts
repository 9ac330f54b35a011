/** What is done to the replicas, their disk and their links, at random moments, and how often each of it was. */
import type { Dice } from './dice.ts'
import type { Replica } from './replica.ts'
import type { Scheduler } from './scheduler.ts'
import type { SimDisk } from './sim-disk.ts'
import type { SimEndpoint } from './sim-endpoint.ts'
import { cut, type Link } from './sim-exec-client.ts'

export const FAULTS = [
  'kill',
  'power loss',
  'pause past the lease',
  'short pause',
  'clock +1 h',
  'clock -1 h',
  'sandbox cut off',
  'model cut off',
  'clients cut off',
  'disk stall',
  'ENOSPC',
  'EIO write',
  'EIO sync',
  'EIO read',
  'torn write',
  'lost write',
  'lost directory entry',
  'sandbox restart',
  'graceful stop',
] as const
export type Fault = (typeof FAULTS)[number]
export type FaultCounts = Record<Fault, number>

export function noFaults(): FaultCounts {
  return Object.fromEntries(FAULTS.map(fault => [fault, 0])) as FaultCounts
}

/** One place where a replica runs; after each end another one is started in it. */
export type Slot = { name: string; replica: Replica | null; isStopping: boolean }

export type FaultParts = {
  scheduler: Scheduler
  dice: Dice
  disk: SimDisk
  endpoint: SimEndpoint
  slots: readonly Slot[]
  counts: FaultCounts
  /** Starts a replica in a slot that has none. */
  start(slot: Slot): void
  clients: { isCut: boolean }
}

export interface Faults {
  begin(): void
  /** Nothing more happens, and all that was broken is whole. */
  end(): void
  /** All replicas and what was not durable. */
  powerLoss(): void
}

const HOUR_MS = 3600_000
const STOP_MS = 30_000

export function createFaults(parts: FaultParts): Faults {
  const { scheduler, dice, disk, endpoint, slots, counts } = parts
  let isOver = false
  let meanMs = 600

  const doom = () => (dice.chance(0.35) ? 0 : dice.chance(0.5) ? 1 : dice.between(0.001, 0.999))

  function end(slot: Slot, share: () => number): void {
    slot.replica?.process.kill(share)
    slot.replica = null
    slot.isStopping = false
    scheduler.after(dice.between(50, 1500), `${slot.name} starts`, () => {
      if (!slot.replica) parts.start(slot)
    })
  }

  function powerLoss(): void {
    for (const slot of slots) if (slot.replica) end(slot, doom)
    const { lostWrites, tornWrites, lostEntries } = disk.powerLoss(dice)
    counts['lost write'] += lostWrites
    counts['torn write'] += tornWrites
    counts['lost directory entry'] += lostEntries
  }

  function pause({ replica }: Slot, ms: number): boolean {
    if (replica?.process.state !== 'running') return false
    replica.process.pause()
    scheduler.after(ms, `${replica.process.name} is woken`, () => replica.process.resume())
    return true
  }

  function jump({ replica }: Slot, ms: number): boolean {
    replica?.process.jump(ms)
    return replica !== null
  }

  function cutOff(link: Link | undefined, ms: number): boolean {
    if (!link || link.isCut) return false
    cut(link)
    scheduler.after(ms, 'a link is whole', () => {
      link.isCut = false
    })
    return true
  }

  function stop(slot: Slot): boolean {
    const { replica } = slot
    if (!replica || slot.isStopping) return false
    slot.isStopping = true
    const over = () => {
      if (slot.replica === replica) end(slot, () => 1)
    }
    replica.process.after(0, 'is stopped', () => replica.stop(over))
    scheduler.after(STOP_MS, `${slot.name} stopped long enough`, over)
    return true
  }

  function killed(slot: Slot): boolean {
    if (!slot.replica) return false
    end(slot, doom)
    return true
  }

  function stalled({ replica }: Slot): boolean {
    if (!replica || replica.trouble.stallMs > 0) return false
    replica.trouble.stallMs = dice.between(500, 6000)
    scheduler.after(dice.between(500, 6000), `${replica.process.name} has its disk again`, () => {
      replica.trouble.stallMs = 0
    })
    return true
  }

  /** Counted where a call meets it. */
  function failing({ replica }: Slot, kind: 'write' | 'sync' | 'read'): boolean {
    if (replica) replica.trouble.failing[kind] += 1 + dice.below(3)
    return false
  }

  /** Counted where a call meets it. */
  function filled(ms: number): boolean {
    disk.room = dice.below(4000)
    scheduler.after(ms, 'there is room again', () => {
      disk.room = Number.POSITIVE_INFINITY
    })
    return false
  }

  function lightOut(): boolean {
    powerLoss()
    return true
  }

  function restarted(): boolean {
    endpoint.restart()
    return true
  }

  function cutClients(ms: number): boolean {
    if (parts.clients.isCut) return false
    parts.clients.isCut = true
    scheduler.after(ms, 'clients are back', () => {
      parts.clients.isCut = false
    })
    return true
  }

  /** What it does, and how likely it is; true where it has happened by that. */
  const actions: readonly [Fault, number, (slot: Slot) => boolean][] = [
    ['kill', 12, killed],
    ['power loss', 3, lightOut],
    ['pause past the lease', 8, slot => pause(slot, dice.between(3100, 12_000))],
    ['short pause', 6, slot => pause(slot, dice.between(20, 2500))],
    ['clock +1 h', 3, slot => jump(slot, HOUR_MS)],
    ['clock -1 h', 3, slot => jump(slot, -HOUR_MS)],
    ['sandbox cut off', 8, ({ replica }) => cutOff(replica?.toSandbox, dice.between(100, 6000))],
    ['model cut off', 4, ({ replica }) => cutOff(replica?.toModel, dice.between(100, 4000))],
    ['clients cut off', 4, () => cutClients(dice.between(20, 3000))],
    ['disk stall', 5, stalled],
    ['ENOSPC', 5, () => filled(dice.between(300, 6000))],
    ['EIO write', 5, slot => failing(slot, 'write')],
    ['EIO sync', 5, slot => failing(slot, 'sync')],
    ['EIO read', 4, slot => failing(slot, 'read')],
    ['sandbox restart', 2, restarted],
    ['graceful stop', 5, stop],
  ]
  const total = actions.reduce((sum, [, weight]) => sum + weight, 0)

  function next(): void {
    scheduler.after(-Math.log(1 - dice.next()) * meanMs, 'trouble', () => {
      if (isOver) return
      let at = dice.below(total)
      for (const [fault, weight, action] of actions) {
        at -= weight
        if (at >= 0) continue
        if (action(dice.pick(slots))) counts[fault]++
        break
      }
      next()
    })
  }

  function weather(): void {
    meanMs = dice.pick([150, 400, 800, 1500, 4000])
    scheduler.after(dice.between(2000, 20_000), 'the weather changes', () => {
      if (!isOver) weather()
    })
  }

  return {
    begin() {
      weather()
      next()
    },
    end() {
      isOver = true
      disk.room = Number.POSITIVE_INFINITY
      parts.clients.isCut = false
      for (const { replica } of slots) {
        if (!replica) continue
        replica.process.resume()
        replica.toModel.isCut = false
        replica.toSandbox.isCut = false
        replica.trouble.stallMs = 0
        replica.trouble.failing = { write: 0, sync: 0, read: 0 }
      }
    },
    powerLoss,
  }
}
