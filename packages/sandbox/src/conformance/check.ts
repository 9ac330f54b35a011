/** What one check of the kit is: a name, what it needs, and an action that throws when the endpoint does not hold to the page. */
import { fail } from '../errors.ts'
import type { Bench } from './bench.ts'

export type Feature = 'stream' | 'jobs' | 'notify' | 'files' | 'fence'

export type Check = {
  /** As the design page "Exec protocol" names it; unique. */
  name: string
  /** Words of `features` in `/health`; without them the check is skipped. */
  features?: readonly Feature[]
  /** Programs that the endpoint must have, or that the caller carries. */
  programs?: readonly string[]
  /** After which it has failed; 60 s unless given. */
  limitMs?: number
  /** Begun first, since it waits long for little. */
  isLong?: true
  /** Runs when no other check does. */
  isAlone?: true
  run(bench: Bench): Promise<void>
}

/** Fails the check with the reason, in one line, unless it is so. */
export function expect(isSo: boolean, reason: string): asserts isSo {
  if (!isSo) throw fail('check_failed', { reason })
}

export function expectEqual(what: string, found: unknown, wanted: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
  expect(a === b, `${what} is ${shown(a)} and not ${shown(b)}`)
}

export function expectBytes(what: string, found: Uint8Array, wanted: Uint8Array): void {
  if (Buffer.compare(found, wanted) === 0) return
  const at = found.findIndex((byte, index) => byte !== wanted[index])
  const where =
    at < 0 || at >= wanted.length ? `ends after ${found.length} bytes` : `differs from byte ${at} on`
  expect(false, `${what} ${where}; ${found.length} bytes of ${wanted.length}`)
}

/** Thrown by a check that can not be made here. */
export function skipped(reason: string) {
  return fail('check_skipped', { reason })
}

const MAX_SHOWN = 120
function shown(text: string | undefined): string {
  const known = text ?? 'absent'
  return known.length > MAX_SHOWN ? `${known.slice(0, MAX_SHOWN)}…` : known
}
