/** Loads the configuration for a command, or says everything that is wrong with it. */
import { knownModels } from '../config/known-models.ts'
import { loadConfig } from '../config/load.ts'
import { countText } from '../config/problem.ts'
import type { GatewayConfig } from '../config/resolved.ts'
import { realSurroundings } from '../config/surroundings.ts'
import { configFileOf, homeOf, type World } from './world.ts'

/** Null after the mistakes were written to stderr. */
export async function loadOrSay(
  world: World,
  file: string | undefined,
  consequence: string,
): Promise<GatewayConfig | null> {
  const loaded = await loadConfig(
    configFileOf(world, file),
    realSurroundings({ env: world.env, beigeHome: homeOf(world).home, models: knownModels }),
  )
  if (loaded.ok) return loaded.config
  world.stderr.write(`${loaded.lines.join('\n')}\n${countText(loaded.lines.length, consequence)}\n`)
  return null
}
