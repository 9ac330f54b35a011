/** What the state directory of a user says about models: logins and `models.json`. A mistake in it is a warning. */
import { join } from 'node:path'
import { type Clock, messageOf } from '@beige/protocol'
import { fail } from './errors.ts'
import { AUTH_FILE } from './logins/auth-file.ts'
import { piLoginFlows } from './logins/login-flows.ts'
import { createLogins, type Logins } from './logins/logins.ts'
import { privateJsonFile } from './logins/private-json-file.ts'
import { type ModelsFile, NO_MODELS_FILE, parseModelsFile } from './models-file.ts'
import { nodeCommand } from './node-command.ts'
import { nodeDisk } from './node-disk.ts'
import type { RoutesParts } from './routing.ts'
import type { Environment } from './routing-order.ts'
import { createSecretValues, type SecretValues } from './secret-value.ts'
import { type Fetch, systemFetch } from './system-fetch.ts'

export const MODELS_FILE = 'models.json'

/** As `createModelRouter` takes them. */
export type ModelSources = {
  logins: NonNullable<RoutesParts['logins']>
  models: { file: ModelsFile; secrets: SecretValues }
}

export type ModelSourcesParts = {
  directory: string
  env: Environment
  clock: Clock
  fetch?: Fetch
  warn(text: string): void
}

export async function openModelSources(parts: ModelSourcesParts): Promise<ModelSources> {
  const { directory, env, warn } = parts
  const usable = await loginsIn(parts)
    .usable()
    .catch((error: unknown) => {
      warn(`${messageOf(error)} Nobody is logged in for now`)
      return []
    })
  const path = join(directory, MODELS_FILE)
  const bytes = await nodeDisk.read(path).catch((error: unknown) => {
    warn(`${path} can not be read: ${messageOf(error)}`)
    return null
  })
  const file = bytes === null ? NO_MODELS_FILE : parseModelsFile(Buffer.from(bytes).toString('utf8'))
  for (const warning of file.warnings) warn(`${path}: ${warning}`)
  return { logins: usable, models: { file, secrets: createSecretValues(env, nodeCommand) } }
}

/** The logins of a state directory. */
export function loginsIn({
  directory,
  clock,
  fetch: send = systemFetch,
  warn,
}: Omit<ModelSourcesParts, 'env'>): Logins {
  const path = join(directory, AUTH_FILE)
  const bad = (what: string) => fail('bad_auth_file', { path, what })
  return createLogins({
    file: privateJsonFile(path, { warn, bad }),
    flows: piLoginFlows(send),
    clock,
  })
}
