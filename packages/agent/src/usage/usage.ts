/** `agent usage`: what requests to models used and cost, out of the ledger in the state directory. */
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
import { stateDirOf } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'

const BY_SESSION: UsageGroup = {
  title: 'session',
  name: 'sessions',
  keyOf: line => line.session,
  order: 'first',
  maxShown: 20,
}

export async function usageCommand(
  json: boolean,
  world: Pick<ProcessWorld, 'env' | 'cwd' | 'stdout' | 'stderr'>,
): Promise<number> {
  const path = join(stateDirOf(world), LEDGER_FILE)
  const report = await readUsage({ path, disk: nodeDisk }, [BY_MODEL, BY_DAY, BY_SESSION])
  if (report.skipped > 0)
    world.stderr.write(`warning: ${report.skipped} torn or foreign lines of ${path} are not counted\n`)
  if (json) world.stdout.write(`${JSON.stringify(usageJson(report))}\n`)
  else if (report.total.requests === 0) world.stdout.write(`no requests yet in ${path}\n`)
  else world.stdout.write(`${visible(usageText(report, textTable))}\n`)
  return 0
}
