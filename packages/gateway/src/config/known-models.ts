/** What the models package knows by name, as the checks of a configuration ask for it. */
import { PROVIDERS } from '@beige/models'
import type { Surroundings } from './surroundings.ts'

export const knownModels: Pick<Surroundings, 'isKnownProvider' | 'modelIds'> = {
  isKnownProvider: name => rowOf(name)?.baseUrl != null,
  modelIds: async name => (await rowOf(name)?.catalogue?.())?.map(model => model.id) ?? [],
}

function rowOf(name: string) {
  return PROVIDERS.find(row => row.id === name && row.needs === undefined)
}
