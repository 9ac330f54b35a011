/** All chance of a simulation: numbers that are the same for the same seed, and fast (xorshift with four words of state). */
import type { Random } from '@beige/protocol'

export interface Dice extends Random {
  /** In [0, 1). */
  next(): number
  /** A whole number in [0, below). */
  below(below: number): number
  /** In [from, to). */
  between(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
  /** Dice of their own, so that what one part throws does not change another's numbers. */
  fork(): Dice
}

export function createDice(seed: number): Dice {
  let x = (seed ^ 0x9e3779b9) | 0
  let y = Math.imul(seed + 1, 0x85ebca6b) | 0
  let z = 0x6c078965
  let w = Math.floor(seed / 0x1_0000_0000) | 1

  function word(): number {
    const t = x ^ (x << 11)
    x = y
    y = z
    z = w
    w = w ^ (w >>> 19) ^ t ^ (t >>> 8)
    return w >>> 0
  }
  for (let round = 0; round < 16; round++) word()

  const next = () => word() / 0x1_0000_0000
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    between: (from, to) => from + next() * (to - from),
    chance: probability => next() < probability,
    pick(list) {
      const one = list[below(list.length)]
      if (one === undefined) throw new RangeError('nothing to pick from')
      return one
    },
    bytes(count) {
      const bytes = new Uint8Array(count)
      for (let at = 0; at < count; at++) bytes[at] = word() & 0xff
      return bytes
    },
    fork: () => createDice(word() * 0x1_0000 + (word() & 0xffff)),
  }
}
