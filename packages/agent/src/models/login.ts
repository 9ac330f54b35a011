/** `agent login`, `logout` and `auth-status`: subscriptions of providers, kept in `auth.json` of the state directory. */
import { createInterface } from 'node:readline'
import { textTable, visible } from '@beige/client'
import {
  type Fetch,
  type Interaction,
  LOGIN_PROVIDERS,
  type LoginProvider,
  type Logins,
  loginProvider,
  loginsIn,
  systemFetch,
} from '@beige/models'
import { messageOf, nearest } from '@beige/protocol'
import { fail } from '../errors.ts'
import { stateDirOf } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { stopSignals } from '../stop-signals.ts'

export type LoginOptions = { device?: boolean; paste?: boolean; enterprise?: string }

/** The whole login: what a person takes to sign in, and not for ever. */
const LOGIN_MS = 15 * 60_000

export async function loginCommand(
  name: string,
  raw: LoginOptions,
  world: ProcessWorld,
  send: Fetch = systemFetch,
): Promise<number> {
  const provider = providerNamed(name)
  callbackHost(world.env)
  const stop = stopSignals(world)
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(LOGIN_MS)])
  try {
    await loginsOf(world, send).login(provider, interaction(raw, provider, world, signal))
    world.stdout.write(`logged in to ${provider}\n`)
    return 0
  } catch (error) {
    if (stop.signal.aborted) {
      world.stderr.write('[cancelled]\n')
      return stop.stopped()?.exitCode ?? 1
    }
    throw fail('login', { provider, reason: firstLine(messageOf(error)) }, error)
  } finally {
    stop.dispose()
  }
}

export async function logoutCommand(name: string, world: ProcessWorld): Promise<number> {
  const provider = providerNamed(name)
  const was = await loginsOf(world).logout(provider)
  world.stdout.write(was ? `logged out of ${provider}\n` : `nobody was logged in to ${provider}\n`)
  return 0
}

export async function authStatusCommand(
  name: string | undefined,
  raw: { json?: boolean },
  world: ProcessWorld,
): Promise<number> {
  const logins = loginsOf(world)
  const providers = name === undefined ? LOGIN_PROVIDERS : [providerNamed(name)]
  const states: [LoginProvider, string][] = []
  for (const provider of providers) states.push([provider, await logins.status(provider)])
  if (raw.json === true)
    world.stdout.write(
      `${JSON.stringify({ logins: states.map(([provider, state]) => ({ provider, state })) })}\n`,
    )
  else if (name !== undefined) world.stdout.write(`${states[0]?.[1]}\n`)
  else world.stdout.write(`${textTable(states)}\n`)
  return 0
}

function providerNamed(name: string): LoginProvider {
  const provider = loginProvider(name)
  if (provider !== null) return provider
  const [near] = nearest(name, LOGIN_PROVIDERS)
  const reason = `${JSON.stringify(name)} has no login${near === undefined ? '' : ` (did you mean ${near}?)`}`
  throw fail('bad_value', { name: 'provider', reason, expected: `one of ${LOGIN_PROVIDERS.join(', ')}` })
}

function loginsOf(world: ProcessWorld, send: Fetch = systemFetch): Logins {
  return loginsIn({
    directory: stateDirOf(world),
    clock: world.clock,
    fetch: send,
    warn: text => world.stderr.write(`warning: ${text}\n`),
  })
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/** Before anything is bound: the library reads it from the environment, under a name of its own. */
function callbackHost(env: ProcessWorld['env']): void {
  const host = env.AI_AGENT_OAUTH_CALLBACK_HOST || undefined
  if (host === undefined) return
  if (!LOOPBACK.test(host)) {
    const reason = `${JSON.stringify(host)} can be reached from elsewhere`
    throw fail('bad_value', { name: 'AI_AGENT_OAUTH_CALLBACK_HOST', reason, expected: 'a loopback address' })
  }
  env.PI_OAUTH_CALLBACK_HOST = host
}

/** What the vendor's flow asks and tells, on a terminal or in a pipe. */
function interaction(
  raw: LoginOptions,
  provider: LoginProvider,
  { stdin, stderr }: ProcessWorld,
  signal: AbortSignal,
): Interaction {
  const say = (text: string): void => void stderr.write(`${visible(text)}\n`)
  return {
    signal,
    async prompt(prompt) {
      switch (prompt.type) {
        case 'select':
          return method(raw, provider)
        case 'text':
          return raw.enterprise ?? ''
        case 'secret':
        case 'manual_code':
          say('Or paste the address that the browser ended at (or the code) here:')
          return lineOf(
            stdin,
            prompt.signal === undefined ? signal : AbortSignal.any([signal, prompt.signal]),
          )
        default:
          return prompt satisfies never
      }
    },
    notify(event) {
      switch (event.type) {
        case 'auth_url':
          return say(`Open this address in a browser:\n\n  ${event.url}\n`)
        case 'device_code':
          return say(`Open ${event.verificationUri} and enter the code ${event.userCode}\n`)
        case 'info':
        case 'progress':
          return say(event.message)
        default:
          return event satisfies never
      }
    },
  }
}

function method({ device, paste }: LoginOptions, provider: LoginProvider): string {
  if (provider === 'openai-codex' && device) return 'device_code'
  return provider === 'anthropic' && paste ? 'copy_code' : 'browser'
}

/** One line that somebody typed or piped; waits for the callback where stdin is at its end. */
function lineOf(stdin: NodeJS.ReadableStream, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stdin, terminal: false })
    const end = (): void => {
      lines.close()
      stdin.pause()
    }
    signal.addEventListener(
      'abort',
      () => {
        end()
        reject(signal.reason)
      },
      { once: true },
    )
    lines.once('line', line => {
      end()
      resolve(line)
    })
  })
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.slice(0, 300) ?? ''
}
