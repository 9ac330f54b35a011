/** The two lines that a torture ends with, and whether its aborts were in time. */
import { PLAIN_P99_MS, STUBBORN_P99_MS } from './bounds.ts'
import type { TortureResult } from './run-trees.ts'

const MIN_SAMPLES = 100 // below that a percentile is one slow moment

export function lastLine({ trees, left, abortMs }: TortureResult): string {
  return `torture: ${trees} trees, ${left} left, abort p50/p99 ${quantiles(abortMs)}`
}

export function splitLine({ plainMs, stubbornMs, endedFirst }: TortureResult): string {
  return [
    `plain ${plainMs.length}: p50/p99 ${quantiles(plainMs)}`,
    `SIGTERM ignored ${stubbornMs.length}: p50/p99 ${quantiles(stubbornMs)}`,
    `ended before their abort ${endedFirst}`,
  ].join('; ')
}

export function withinBounds({ plainMs, stubbornMs }: TortureResult): boolean {
  return isWithin(plainMs, PLAIN_P99_MS) && isWithin(stubbornMs, STUBBORN_P99_MS)
}

function isWithin(samples: readonly number[], boundMs: number): boolean {
  return samples.length < MIN_SAMPLES || quantile(samples, 0.99) <= boundMs
}

function quantiles(samples: readonly number[]): string {
  return `${ms(quantile(samples, 0.5))}/${ms(quantile(samples, 0.99))}`
}

function ms(value: number): string {
  return `${Math.round(value)} ms`
}

function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
