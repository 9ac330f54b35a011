/** What requests to models used, out of the ledger of a home, by model, day, agent and virtual key. */
import { join } from 'node:path'
import {
  BY_DAY,
  BY_MODEL,
  LEDGER_FILE,
  nodeDisk,
  readUsage,
  type UsageGroup,
  type UsageReport,
} from '@beige/models'
import type { Layout } from './home/layout.ts'

const BY_AGENT: UsageGroup = {
  title: 'agent',
  name: 'agents',
  keyOf: line => line.agent ?? null,
  order: 'cost',
}
const BY_KEY: UsageGroup = { title: 'key', name: 'keys', keyOf: line => line.key ?? null, order: 'cost' }

export function ledgerOf(layout: Layout): string {
  return join(layout.data, LEDGER_FILE)
}

/** `firstDay`: `2026-08-24`; days before it are left out. */
export function usageOf(layout: Layout, firstDay = ''): Promise<UsageReport> {
  return readUsage(
    { path: ledgerOf(layout), disk: nodeDisk },
    [BY_MODEL, BY_DAY, BY_AGENT, BY_KEY],
    line => line.ts.slice(0, 10) >= firstDay,
  )
}
