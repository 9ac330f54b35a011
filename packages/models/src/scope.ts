/** On whose behalf a router answers: whom it may ask, in which order, and who pays. Checked when it is made. */
import type { Api, Model, SimpleStreamOptions } from '@earendil-works/pi-ai'
import type { Budget, Payers } from './budgets.ts'
import { fail } from './errors.ts'
import type { HealthTarget } from './provider-health.ts'
import type { ModelRequest, RouterScope } from './router.ts'
import type { Route, Routes } from './routing.ts'
import { nameOf, type RoutingRun, type RunIds } from './routing-run.ts'

export type Candidate = {
  route: Route
  /** `provider/id`. */
  name: string
  target: HealthTarget
  /** Undefined: as the request says. */
  reasoning: SimpleStreamOptions['reasoning']
}

export type Scope = {
  given: RouterScope
  budgets: readonly Budget[]
  /** Throws `not_allowed`. */
  check(model: Model<Api>): Model<Api>
  /** In the order in which they are asked. Throws `not_allowed`, `no_route`. */
  candidates(request: ModelRequest, run: RoutingRun): Candidate[]
  payers(request: Pick<ModelRequest, 'sessionId' | 'run'>): Payers
}

export const EVERYBODY: RouterScope = {}

/** Throws what `RouterScope` can be wrong in. */
export function createScope(routes: Routes, given: RouterScope, runIds: RunIds): Scope {
  const fallbacks = (given.fallbackModels ?? []).map(({ model, reasoning }) =>
    candidateOf(routes.route(model), reasoning),
  )
  const allowed = given.allowModels?.map(name => nameOfRoute(routes.route(name)))
  const budgets = given.budgets ?? []
  const check = (model: Model<Api>): Model<Api> => {
    const name = nameOf(model)
    if (allowed !== undefined && !allowed.includes(name))
      throw fail('not_allowed', { model: name, allowed: allowed.join(', ') })
    const isMoney = budgets.some(
      ({ usd, usdPerDay, usdPerMonth }) => (usd ?? usdPerDay ?? usdPerMonth) !== undefined,
    )
    if (isMoney && !isPriced(routes, model)) throw fail('no_price', { model: name })
    return model
  }
  for (const budget of budgets) checkBudget(budget)
  for (const { route } of fallbacks) check(route.model)
  for (const name of given.allowModels ?? []) check(routes.route(name).model)

  return {
    given,
    budgets,
    check,
    payers: ({ sessionId, run }) => ({
      session: sessionId,
      // Nobody asks what a single run has spent, unless it has a budget.
      ...(run !== undefined && budgets.some(({ per }) => per === 'run') ? { run: runIds(run) } : {}),
      ...(given.agent === undefined ? {} : { agent: given.agent }),
      ...(given.tenant === undefined ? {} : { tenant: given.tenant }),
      ...(given.key === undefined ? {} : { key: given.key }),
    }),
    candidates(request, run) {
      check(request.model)
      const route = routes.routeOf(request.model)
      if (route === null) throw fail('no_route', { model: nameOf(request.model), variable: 'its key' })
      const chosen = candidateOf(route, undefined)
      if (request.isAlone === true) return [chosen]
      const all = [chosen, ...fallbacks]
      const list = all.filter((one, i) => all.findIndex(other => other.name === one.name) === i)
      const start = Math.max(
        0,
        list.findIndex(one => one.name === run.startAt),
      )
      return [...list.slice(start), ...list.slice(0, start)]
    },
  }
}

/** What is not said anew stays; budgets add up. */
export function narrowed(outer: RouterScope, inner: RouterScope): RouterScope {
  return { ...outer, ...inner, budgets: [...(outer.budgets ?? []), ...(inner.budgets ?? [])] }
}

function candidateOf(route: Route, reasoning: SimpleStreamOptions['reasoning']): Candidate {
  const { endpoint, model } = route
  return {
    route,
    name: nameOfRoute(route),
    target: { provider: endpoint.id, id: model.id, key: endpoint.key },
    reasoning,
  }
}

function nameOfRoute({ endpoint, model }: Route): string {
  return nameOf({ provider: endpoint.id, id: model.id })
}

function isPriced(routes: Routes, model: Model<Api>): boolean {
  return routes.routeOf(model)?.endpoint.priced.has(model.id.toLowerCase()) === true
}

function checkBudget(budget: Budget): void {
  const { per, ...limits } = budget
  for (const [name, value] of Object.entries(limits))
    if (!Number.isFinite(value) || value <= 0)
      throw fail('bad_number', { name: `budget.${name} per ${per}`, value, expected: 'a number above 0' })
}
