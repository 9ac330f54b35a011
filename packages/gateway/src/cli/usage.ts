/** `beige usage`: tokens and cost by model, day, agent and virtual key, out of the ledger of this home. */
import { join } from 'node:path'
import { textTable, visible } from '@beige/client'
import {
  BY_DAY,
  BY_MODEL,
  LEDGER_FILE,
  nodeDisk,
  readUsage,
  type UsageGroup,
  usageJson,
  usageText,
} from '@beige/models'
import { EXIT, homeOf, type World } from './world.ts'

const BY_AGENT: UsageGroup = {
  title: 'agent',
  name: 'agents',
  keyOf: line => line.agent ?? null,
  order: 'cost',
}
const BY_KEY: UsageGroup = { title: 'key', name: 'keys', keyOf: line => line.key ?? null, order: 'cost' }
const DAY_MS = 86_400_000

/** `days`: of the last so many days alone, today among them. */
export async function usage(world: World, options: { json?: boolean; days?: number }): Promise<number> {
  const path = join(homeOf(world).data, LEDGER_FILE)
  const { days } = options
  const first =
    days === undefined ? '' : new Date(world.clock.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10)
  const report = await readUsage(
    { path, disk: nodeDisk },
    [BY_MODEL, BY_DAY, BY_AGENT, BY_KEY],
    line => line.ts.slice(0, 10) >= first,
  )
  if (report.skipped > 0)
    world.stderr.write(`warning: ${report.skipped} torn or foreign lines of ${path} are not counted\n`)
  if (options.json) world.stdout.write(`${JSON.stringify(usageJson(report))}\n`)
  else if (report.total.requests === 0) world.stdout.write(`no requests yet in ${path}\n`)
  else world.stdout.write(`${visible(usageText(report, textTable))}\n`)
  return EXIT.done
}
