/** `agent usage`: what requests to models used and cost, out of the ledger in the state directory. */
import { join } from 'node:path'
import { visible } from '@beige/client'
import { LEDGER_FILE, type LedgerLine, nodeDisk, readLedger } from '@beige/models'
import { stateDirOf } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { addTo, emptySums, type Sums, usageTable } from './usage-table.ts'

const MAX_SHOWN_SESSIONS = 20 // of the table; the JSON has all

export async function usageCommand(
  json: boolean,
  world: Pick<ProcessWorld, 'env' | 'cwd' | 'stdout' | 'stderr'>,
): Promise<number> {
  const byModel = new Map<string, Sums>()
  const byDay = new Map<string, Sums>()
  const bySession = new Map<string, Sums>()
  const total = emptySums()
  const take = (line: LedgerLine): void => {
    addTo(total, line)
    addTo(sumsOf(byModel, `${line.provider}/${line.model}`), line)
    addTo(sumsOf(byDay, line.ts.slice(0, 10)), line)
    addTo(sumsOf(bySession, line.session), line)
  }
  const path = join(stateDirOf(world), LEDGER_FILE)
  const { skipped } = await readLedger({ path, disk: nodeDisk }, take)
  if (skipped > 0)
    world.stderr.write(`warning: ${skipped} torn or foreign lines of ${path} are not counted\n`)

  const models = [...byModel].sort(([, a], [, b]) => b.costNanoUsd - a.costNanoUsd)
  const days = [...byDay].sort(([a], [b]) => (a < b ? -1 : 1))
  const sessions = [...bySession] // in the order of their first request
  if (json) {
    const report = { total: shown(total), models: rows(models), days: rows(days), sessions: rows(sessions) }
    world.stdout.write(`${JSON.stringify(report)}\n`)
    return 0
  }
  if (total.requests === 0) {
    world.stdout.write(`no requests yet in ${path}\n`)
    return 0
  }
  const newest = sessions.slice(-MAX_SHOWN_SESSIONS)
  const tables = [
    usageTable('model', models),
    usageTable('day (UTC)', days),
    usageTable(newest.length < sessions.length ? `session, the newest ${newest.length}` : 'session', newest),
    usageTable('', [['total', total]]),
  ]
  world.stdout.write(`${visible(tables.join('\n\n'))}\n`)
  return 0
}

function sumsOf(sums: Map<string, Sums>, name: string): Sums {
  const found = sums.get(name) ?? emptySums()
  sums.set(name, found)
  return found
}

function rows(sums: readonly (readonly [string, Sums])[]) {
  return sums.map(([name, one]) => ({ name, ...shown(one) }))
}

/** In the names that the wire has for them. */
function shown(one: Sums) {
  return {
    requests: one.requests,
    failed: one.failed,
    input_tokens: one.input,
    output_tokens: one.output,
    cache_read_tokens: one.cacheRead,
    cache_write_tokens: one.cacheWrite,
    cost_usd: one.costNanoUsd / 1e9,
    estimated: one.estimated,
  }
}
