/** The models that can be asked with what is here, or all that are known by name. */
import { type ModelRouter, PROVIDERS } from '@beige/models'
import { agentOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { openAgentRouter } from './agent-router.ts'

type Models = ReturnType<ModelRouter['models']>

export async function modelsOf(
  raw: { all?: boolean; gatewayUrl?: string; key?: string },
  world: ProcessWorld,
): Promise<Models> {
  if (raw.all === true) {
    const catalogues = await Promise.all(
      PROVIDERS.map(async row => {
        const models = (await row.catalogue?.()) ?? []
        return models.map(model => ({ ...model, provider: row.id }))
      }),
    )
    return catalogues.flat()
  }
  const { gatewayUrl, key } = raw
  const options = agentOptions(
    {
      sessionPersistence: false,
      ...(gatewayUrl === undefined ? {} : { gatewayUrl }),
      ...(key === undefined ? {} : { key }),
    },
    world,
  )
  const router = await openAgentRouter({
    options: { ...options, fallbackModels: [], budgetUsd: null },
    world,
  })
  try {
    return router.models()
  } finally {
    await router.close()
  }
}
