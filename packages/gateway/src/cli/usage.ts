/** `beige usage`: tokens and cost by model, day, agent and virtual key. */
import { textTable, visible } from '@beige/client'
import { usageJson, usageText } from '@beige/models'
import { ledgerOf, usageOf } from '../usage.ts'
import { EXIT, homeOf, type World } from './world.ts'

const DAY_MS = 86_400_000

/** `days`: of the last so many days alone, today among them. */
export async function usage(world: World, options: { json?: boolean; days?: number }): Promise<number> {
  const layout = homeOf(world)
  const { days } = options
  const first =
    days === undefined ? '' : new Date(world.clock.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10)
  const report = await usageOf(layout, first)
  const path = ledgerOf(layout)
  if (report.skipped > 0)
    world.stderr.write(`warning: ${report.skipped} torn or foreign lines of ${path} are not counted\n`)
  if (options.json) world.stdout.write(`${JSON.stringify(usageJson(report))}\n`)
  else if (report.total.requests === 0) world.stdout.write(`no requests yet in ${path}\n`)
  else world.stdout.write(`${visible(usageText(report, textTable))}\n`)
  return EXIT.done
}
