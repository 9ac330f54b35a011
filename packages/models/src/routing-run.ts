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

/** Tells the runs of one router apart, for budgets of a run. */
export type RunIds = (run: RoutingRun) => string

export function createRunIds(): RunIds {
  const ids = new WeakMap<RoutingRun, string>()
  let made = 0
  return run => {
    const id = ids.get(run) ?? String(++made)
    ids.set(run, id)
    return id
  }
}
