/** What one prompt run has learnt about its models: strikes, who is out, who answered. */
import type { ModelRef } from './router.ts'

/** Made by `newRoutingRun` for each run, and handed in with every request of it. Its fields are the router's. */
export type RoutingRun = {
  /** Consecutive failures, by `provider/id`. */
  strikes: Map<string, number>
  /** `provider/id` or `provider/*`: not asked again in this run. */
  out: Set<string>
  /** Of a model that said when it will have room again; monotonic ms. */
  notBefore: Map<string, number>
  /** Later requests start here. */
  startAt: string | null
  /** Who answered last, also in earlier runs of the session. */
  answeredLast: string | null
}

export function newRoutingRun(answeredLast: ModelRef | null = null): RoutingRun {
  return {
    strikes: new Map(),
    out: new Set(),
    notBefore: new Map(),
    startAt: null,
    answeredLast: answeredLast === null ? null : nameOf(answeredLast),
  }
}

export function nameOf({ provider, id }: ModelRef): string {
  return `${provider}/${id}`
}
