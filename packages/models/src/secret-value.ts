/** A value of `models.json` that may only say where the secret is: `$VAR`, `${VAR}` within it, or `!command`. */
import { fail } from './errors.ts'
import { type Environment, variable } from './routing-order.ts'

/** Runs a shell command of the operator and answers its stdout; throws after `timeoutMs`. */
export type RunCommand = (command: string, env: Environment, timeoutMs: number) => Promise<string>

export const COMMAND_TIMEOUT_MS = 10_000

export type SecretValues = {
  /** Throws `no_route` with the variable, `bad_secret` where a command failed. */
  open(value: string, model: string): Promise<string>
}

/** A command runs once for each of these, whoever asks and however often: one a process. */
export function createSecretValues(env: Environment, run: RunCommand): SecretValues {
  const answers = new Map<string, Promise<string>>()
  return {
    async open(value, model) {
      if (!value.startsWith('!')) return expanded(value, env, model)
      const command = value.slice(1).trim()
      const answer = answers.get(command) ?? run(command, env, COMMAND_TIMEOUT_MS)
      answers.set(command, answer)
      const said = await answer.catch((error: unknown) => {
        throw fail('bad_secret', { model, what: 'its command failed or took more than 10 s' }, error)
      })
      if (said.trim() === '') throw fail('bad_secret', { model, what: 'its command said nothing' })
      return said.trim()
    },
  }
}

const VARIABLE = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)/g

function expanded(text: string, env: Environment, model: string): string {
  return text.replace(VARIABLE, (match, braced: string | undefined, plain: string | undefined) => {
    const name = braced ?? plain
    if (name === undefined) return match.slice(1) // `$$` is a dollar sign
    const value = variable(env, name)
    if (value === null) throw fail('no_route', { model, variable: name })
    return value
  })
}
