/**
 * The command line of `beige`: what it takes, and which function does it. What loads providers' libraries or the sandbox
 * is imported when its command runs, so that the others start quickly.
 */
import { isError } from '@beige/protocol'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { auditVerify } from './cli/audit.ts'
import { restartGateway } from './cli/gateway-restart.ts'
import { startDetached } from './cli/gateway-start.ts'
import { gatewayStatus, stopGateway } from './cli/gateway-stop.ts'
import { type KeyFlags, keysCreate, keysList, keysRevoke } from './cli/keys.ts'
import { modelsClear, modelsHealth } from './cli/models.ts'
import { abortSession } from './cli/sessions.ts'
import { tokenCreate, tokenList, tokenRevoke } from './cli/token.ts'
import { EXIT, type World } from './cli/world.ts'
import { explainSystem } from './system-refusal.ts'
import { VERSION } from './version.ts'

/** Runs one command line; answers the exit code, never throws. */
export async function program(args: readonly string[], world: World): Promise<number> {
  let code: number = EXIT.done
  const does =
    <A extends unknown[]>(work: (...given: A) => Promise<number> | number) =>
    async (...given: A) => {
      code = await work(...given)
    }
  const beige = new Command('beige')
    .description('Runs agents that nobody has to trust')
    .version(VERSION, '-v, --version')
    .option('-c, --config <path>', 'another configuration file, for the commands that read one')
    .exitOverride()
    .configureOutput({
      writeOut: text => world.stdout.write(text),
      writeErr: text => world.stderr.write(text),
    })
    .showHelpAfterError('(see --help)')
    .helpOption('-h, --help')
    .configureHelp({ showGlobalOptions: true })
  /** Given before or behind the name of a command. */
  const configFlag = (): { config?: string } => {
    const { config } = beige.opts<{ config?: string }>()
    return config === undefined ? {} : { config }
  }

  const gateway = beige.command('gateway').description('start, stop and look at the gateway')
  gateway
    .command('start')
    .description('check the configuration, start, show the log, return when ready')
    .option('-F, --foreground', 'stay in front')
    .option('--timeout <seconds>', 'how long to wait until it is ready; 0: for ever', seconds)
    .option('--strict', 'one bad sandbox or plugin fails the start')
    .addOption(new Option('--ready-fd <number>', 'set by a detached start').argParser(seconds).hideHelp())
    .action(
      does(async (options: StartFlags) => {
        const { runGateway } = await import('./cli/gateway-run.ts')
        const { strict, timeout, readyFd } = options
        const shared = {
          ...configFlag(),
          ...(strict === undefined ? {} : { strict }),
        }
        return options.foreground
          ? runGateway(world, { ...shared, ...(readyFd === undefined ? {} : { readyFd }) })
          : startDetached(world, { ...shared, ...(timeout === undefined ? {} : { timeout }) })
      }),
    )
  gateway
    .command('stop')
    .description('ask, wait until it is gone, kill it when it does not go')
    .option('--timeout <seconds>', 'how long to wait (30)', seconds)
    .option('--keep-sandboxes', 'leave the sandboxes running')
    .action(does((options: { timeout?: number; keepSandboxes?: boolean }) => stopGateway(world, options)))
  gateway
    .command('restart')
    .description('read the configuration anew and start again; refused, with every mistake, when it is bad')
    .option('--timeout <seconds>', 'how long to wait until it is ready; 0: for ever', seconds)
    .action(does((options: { timeout?: number }) => restartGateway(world, { ...options, ...configFlag() })))
  gateway
    .command('status')
    .description('exit 0: ready, 3: stopped, 4: not ready')
    .option('--json', 'as JSON')
    .action(does((options: { json?: boolean }) => gatewayStatus(world, options)))

  beige
    .command('prompt')
    .description('one prompt to an agent, shown as it runs')
    .argument('<agent>')
    .argument('<message>')
    .option('--session <key>', 'the session to speak in (api:<agent>:default)')
    .option('--json', 'frames of the serve protocol, one a line')
    .action(
      does(async (agent: string, message: string, options: { session?: string; json?: boolean }) => {
        const { promptCommand } = await import('./cli/prompt.ts')
        return promptCommand(world, agent, message, options)
      }),
    )

  beige
    .command('config')
    .description('look at the configuration')
    .command('check')
    .description('every mistake at once')
    .action(
      does(async () => {
        const { loadOrSay } = await import('./cli/load.ts')
        const config = await loadOrSay(world, configFlag().config, 'nothing was changed')
        if (config === null) return EXIT.usage
        const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`
        world.stdout.write(
          `${config.file}: ok, ${count(config.agents.length, 'agent')}, ${count(config.plugins.length, 'plugin')}, ${count(config.providers.length, 'provider')}\n`,
        )
        return EXIT.done
      }),
    )

  beige
    .command('audit')
    .description('look at the audit log')
    .command('verify')
    .description('exit 1 at the first edit, gap, reorder or cut')
    .option('--anchor <seq:hash>', 'a head that was kept elsewhere')
    .option('--json', 'as JSON')
    .action(does((options: { anchor?: string; json?: boolean }) => auditVerify(world, options)))

  beige
    .command('doctor')
    .description(
      'what is missing on this machine and in this home, and how to get it; exit 1 when something is',
    )
    .option('--json', 'as JSON')
    .action(
      does(async (options: { json?: boolean }) => {
        const { doctor } = await import('./cli/doctor.ts')
        return doctor(world, { ...options, ...configFlag() })
      }),
    )

  beige
    .command('sessions')
    .description('the sessions of agents')
    .command('abort')
    .argument('<key>', 'as in prompt --session')
    .description('stop the run of a session; it can be prompted again')
    .action(does((key: string) => abortSession(world, key)))

  const token = beige.command('token').description('API tokens')
  token
    .command('create')
    .description('make one; it is shown once')
    .requiredOption('--name <name>', 'who will use it')
    .option('--scopes <list>', 'owner, client, read-only, or scopes with commas', 'client')
    .option('--agent <name...>', 'only these agents')
    .option('--days <number>', 'how long it is valid', seconds)
    .action(
      does((options: { name: string; scopes: string; agent?: string[]; days?: number }) =>
        tokenCreate(world, options),
      ),
    )
  token
    .command('list')
    .description('without their secrets')
    .action(does(() => tokenList(world)))
  token
    .command('revoke')
    .argument('<id>')
    .description('end one')
    .action(does((id: string) => tokenRevoke(world, id)))

  const keys = beige
    .command('keys')
    .description('virtual keys: for programs, instead of the key of a provider')
  keys
    .command('create')
    .description('make one; it is shown once')
    .requiredOption('--label <name>', 'who will use it')
    .requiredOption(
      '--model <name...>',
      'provider/model, an agent (its models, with fallback), or "*" for all',
    )
    .option('--usd-per-day <n>', 'budget; a request that may pass it is refused', above0)
    .option('--usd-per-month <n>', 'budget', above0)
    .option('--usd <n>', 'budget, ever', above0)
    .option('--tokens-per-day <n>', 'budget', whole)
    .option('--rpm <n>', 'requests a minute (gateway.requestsPerMinute)', whole)
    .option('--days <n>', 'how long it is valid', above0)
    .addHelpText(
      'after',
      '\nExample:\n  OPENAI_API_KEY=$(beige keys create --label ci --model scout --usd-per-day 5) \\\n  OPENAI_BASE_URL=http://127.0.0.1:7433/v1 python my-script.py',
    )
    .action(does((options: KeyFlags) => keysCreate(world, options)))
  keys
    .command('list')
    .description('without the keys themselves')
    .option('--json', 'as JSON')
    .action(does((options: { json?: boolean }) => keysList(world, options)))
  keys
    .command('revoke')
    .argument('<id>')
    .description('end one, and what it has open')
    .action(does((id: string) => keysRevoke(world, id)))

  const models = beige.command('models').description('which models cool down, and why')
  models
    .command('list', { isDefault: true })
    .description('cooldowns and queues')
    .option('--json', 'as JSON')
    .action(does((options: { json?: boolean }) => modelsHealth(world, options)))
  models
    .command('clear')
    .argument('<provider/model>', 'or provider/*')
    .description('forget its cooldown')
    .action(does((name: string) => modelsClear(world, name)))

  beige
    .command('usage')
    .description('tokens and cost by model, day, agent and key')
    .option('--days <n>', 'of the last n days (UTC) alone', whole)
    .option('--json', 'as one JSON object')
    .action(
      does(async (options: { json?: boolean; days?: number }) => {
        const { usage } = await import('./cli/usage.ts')
        return usage(world, options)
      }),
    )

  try {
    if (args.length === 0) beige.outputHelp()
    else await beige.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    world.stderr.write(`${explainSystem(error)}\n`)
    if (isError(error, 'usage')) return EXIT.usage
    return isError(error, 'not_running') ? EXIT.notRunning : EXIT.failed
  }
}

type StartFlags = {
  foreground?: boolean
  timeout?: number
  strict?: boolean
  readyFd?: number
}

function above0(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('must be a number above 0')
  return value
}

function whole(text: string): number {
  const value = above0(text)
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('must be a whole number from 1')
  return value
}

function seconds(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('must be a number, 0 or more')
  return value
}
