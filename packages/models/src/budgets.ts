/**
 * Hard limits on what may be spent. The most that a request can cost is reserved before it is sent, and what it did cost
 * takes its place, once; so a budget is never passed by requests that run at the same time.
 */
import type { LedgerLine } from './ledger.ts'
import type { Reserved, TokenUsage } from './usage.ts'

/** `per` says whose spending counts together: that of the same key, agent, tenant, session, run, or of everybody. */
export type Budget = {
  per: 'key' | 'agent' | 'tenant' | 'session' | 'run' | 'all'
  usdPerDay?: number
  usdPerMonth?: number
  tokensPerDay?: number
  /** Ever. */
  usd?: number
}

/** Who pays, by what budgets may be about. */
export type Payers = Partial<Record<Exclude<Budget['per'], 'all'>, string>>

export type BudgetBreach = {
  budget: string
  limit: string
  spent: string
  /** When there is room again; null: never by itself. */
  retryAtMs: number | null
}

export type Reservation = {
  /** Puts what was used in the place of what was reserved. Only the first call counts. */
  settle(usage: TokenUsage): void
}

export type Accounts = {
  /** Reserves with all of `budgets`, or with none and says which has no room. */
  reserve(
    budgets: readonly Budget[],
    payers: Payers,
    most: Reserved,
    nowMs: number,
  ): { reservation: Reservation } | { breach: BudgetBreach }
  /** What is left of the budgets of this run, in nano-dollars; null where it has none. */
  roomOfRun(budgets: readonly Budget[], payers: Payers): number | null
  /** What was spent before, out of the ledger. */
  count(line: LedgerLine): void
  spentBy(per: Budget['per'], name: string): Spending
}

export type Spending = {
  day: string
  dayNanoUsd: number
  dayTokens: number
  month: string
  monthNanoUsd: number
  nanoUsd: number
  reservedNanoUsd: number
  reservedTokens: number
}

const NANO = 1e9
const KINDS = ['key', 'agent', 'tenant', 'session', 'run'] as const

export function createAccounts(): Accounts {
  const accounts = new Map<string, Spending>()

  const accountOf = (name: string): Spending => {
    const account = accounts.get(name) ?? {
      day: '',
      dayNanoUsd: 0,
      dayTokens: 0,
      month: '',
      monthNanoUsd: 0,
      nanoUsd: 0,
      reservedNanoUsd: 0,
      reservedTokens: 0,
    }
    accounts.set(name, account)
    return account
  }
  const namesOf = (payers: Payers): string[] => [
    'all',
    ...KINDS.flatMap(kind => (payers[kind] === undefined ? [] : [`${kind}:${payers[kind]}`])),
  ]
  const add = (payers: Payers, used: { tokens: number; nanoUsd: number }, nowMs: number): void => {
    const day = dayOf(nowMs)
    for (const name of namesOf(payers)) {
      const account = turned(accountOf(name), nowMs)
      account.nanoUsd += used.nanoUsd
      if (day.slice(0, 7) === account.month) account.monthNanoUsd += used.nanoUsd
      if (day !== account.day) continue
      account.dayNanoUsd += used.nanoUsd
      account.dayTokens += used.tokens
    }
  }

  return {
    reserve(budgets, payers, most, nowMs) {
      for (const budget of budgets) {
        const name = accountName(budget, payers)
        if (name === null) continue
        const breach = breachOf(budget, name, turned(accountOf(name), nowMs), most, nowMs)
        if (breach !== null) return { breach }
      }
      const names = namesOf(payers)
      for (const name of names) {
        accountOf(name).reservedNanoUsd += most.nanoUsd
        accountOf(name).reservedTokens += most.tokens
      }
      let isSettled = false
      return {
        reservation: {
          settle(usage) {
            if (isSettled) return
            isSettled = true
            for (const name of names) {
              accountOf(name).reservedNanoUsd -= most.nanoUsd
              accountOf(name).reservedTokens -= most.tokens
            }
            // It belongs to the day whose budget it was reserved from.
            add(payers, { tokens: tokensOf(usage), nanoUsd: usage.costNanoUsd }, nowMs)
          },
        },
      }
    },
    roomOfRun(budgets, payers) {
      const { run } = payers
      if (run === undefined) return null
      const { nanoUsd, reservedNanoUsd } = accountOf(`run:${run}`)
      const limits = budgets.flatMap(({ per, usd }) => (per === 'run' && usd !== undefined ? [usd] : []))
      return limits.length === 0 ? null : Math.min(...limits) * NANO - nanoUsd - reservedNanoUsd
    },
    count: line => add(line, { tokens: tokensOf(line), nanoUsd: line.costNanoUsd }, Date.parse(line.ts)),
    spentBy: (per, name) => ({ ...accountOf(per === 'all' ? 'all' : `${per}:${name}`) }),
  }
}

function tokensOf(usage: Pick<TokenUsage, 'input' | 'output' | 'cacheRead' | 'cacheWrite'>): number {
  return usage.input + usage.output + usage.cacheRead + usage.cacheWrite
}

function accountName(budget: Budget, payers: Payers): string | null {
  if (budget.per === 'all') return 'all'
  const payer = payers[budget.per]
  return payer === undefined ? null : `${budget.per}:${payer}`
}

/** Days and months are those of UTC. An account never goes back to an earlier day. */
function turned(account: Spending, nowMs: number): Spending {
  const day = dayOf(nowMs)
  if (day > account.day) {
    account.day = day
    account.dayNanoUsd = 0
    account.dayTokens = 0
  }
  const month = day.slice(0, 7)
  if (month > account.month) {
    account.month = month
    account.monthNanoUsd = 0
  }
  return account
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function breachOf(
  budget: Budget,
  name: string,
  account: Spending,
  most: Reserved,
  nowMs: number,
): BudgetBreach | null {
  const shown = budget.per === 'run' ? 'this run' : name // its number means nothing to anybody
  const now = new Date(nowMs)
  const tomorrow = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)
  const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const money = (limitUsd: number | undefined, spent: number, period: string, retryAtMs: number | null) =>
    limitUsd === undefined || spent + account.reservedNanoUsd + most.nanoUsd <= limitUsd * NANO
      ? null
      : { budget: shown, limit: `$${limitUsd}${period}`, spent: `$${(spent / NANO).toFixed(4)}`, retryAtMs }
  const { tokensPerDay } = budget
  const tokens =
    tokensPerDay === undefined || account.dayTokens + account.reservedTokens + most.tokens <= tokensPerDay
      ? null
      : {
          budget: shown,
          limit: `${tokensPerDay} tokens a day`,
          spent: `${account.dayTokens} tokens`,
          retryAtMs: tomorrow,
        }
  return (
    money(budget.usdPerDay, account.dayNanoUsd, ' a day', tomorrow) ??
    money(budget.usdPerMonth, account.monthNanoUsd, ' a month', nextMonth) ??
    money(budget.usd, account.nanoUsd, '', null) ??
    tokens
  )
}
