/** Loading and starting plugins: a bad `register` stops the start, a bad `start` only where the plugin is required. */
import { messageOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { GatewayLog } from '../home/gateway-log.ts'
import type { PluginSupervisor } from '../plugins/plugin-supervisor.ts'

/** Every plugin is loaded before it is said what is wrong with any. */
export async function loadPlugins(supervisors: readonly PluginSupervisor[]): Promise<void> {
  const results = await Promise.allSettled(supervisors.map(supervisor => supervisor.load()))
  const problems = results.flatMap(result => (result.status === 'rejected' ? [messageOf(result.reason)] : []))
  if (problems.length > 0) throw fail('config_invalid', { lines: problems.join('\n') })
}

/** In the order of the configuration. */
export async function startPlugins(
  supervisors: readonly PluginSupervisor[],
  parts: { strict: boolean; log: GatewayLog },
): Promise<void> {
  for (const supervisor of supervisors) {
    try {
      await supervisor.start()
    } catch (error) {
      if (supervisor.plugin.required || parts.strict) throw error
      parts.log.error(`plugin ${supervisor.plugin.name}`, error)
    }
  }
}
