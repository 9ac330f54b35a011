/** The lines that a torture of sessions ends with, and whether takeovers were in time. */
import { countsText } from '../../session-proof/counts-text.ts'
import type { SessionsResult } from './run-sessions.ts'
import { TAKEOVERS, type TakeoverKind, type TakeoverTimes } from './takeover-watch.ts'

/** At the 99th percentile. */
export const TAKEOVER_P99_MS: Readonly<Record<TakeoverKind, number>> = { kill: 3500, cut: 5000, graceful: 50 }

export function lastLine({ turns, violations, takeovers }: SessionsResult): string {
  const times = TAKEOVERS.map(kind => `${kind} ${quantiles(takeovers[kind])}`)
  return `torture: ${turns} turns, ${countsText(violations)}, takeover p50/p99 ${times.join(' ')}`
}

/** How often each trouble was, and how many takeovers were measured. */
export function troublesLine({ troubles, takeovers, effects }: SessionsResult): string {
  const counts = [...troubles].map(([name, count]) => `${name} ${count}`)
  const measured = TAKEOVERS.map(kind => `${kind} ${takeovers[kind].length}`)
  return `troubles: ${counts.join(', ')}; takeovers measured: ${measured.join(', ')}; ${effects} effects`
}

export function lateTakeovers(takeovers: TakeoverTimes): string[] {
  return TAKEOVERS.filter(kind => quantile(takeovers[kind], 0.99) > TAKEOVER_P99_MS[kind]).map(
    kind => `${kind} ${quantiles(takeovers[kind])}, at most ${TAKEOVER_P99_MS[kind]} ms`,
  )
}

function quantiles(samples: readonly number[]): string {
  if (samples.length === 0) return '-/-'
  return [0.5, 0.99].map(share => `${Math.round(quantile(samples, share))} ms`).join('/')
}

function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
