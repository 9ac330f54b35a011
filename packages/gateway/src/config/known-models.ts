/** What the models package knows by name, as the checks of a configuration ask for it. */
import { PROVIDERS } from '@beige/models'
import type { Surroundings } from './surroundings.ts'

export const knownModels: Pick<Surroundings, 'isKnownProvider' | 'models'> = {
  isKnownProvider: name => rowOf(name)?.baseUrl != null,
  models: async name =>
    ((await rowOf(name)?.catalogue?.()) ?? []).map(({ id, cost }) => ({
      id,
      // A catalogue's price of 0 is one that nobody knows.
      isPriced: cost.input > 0 || cost.output > 0,
    })),
}

function rowOf(name: string) {
  return PROVIDERS.find(row => row.id === name)
}
