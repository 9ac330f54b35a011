/** The commands about models, logins and settings as the command line knows them; each loads what it needs when called. */
import { type Command, Option } from 'commander'
import type { ProcessWorld } from '../process-world.ts'
import { FIELDS } from '../settings/fields.ts'
import type { ListModelsOptions } from './list-models.ts'
import type { LoginOptions } from './login.ts'

const PROVIDER = 'anthropic, github-copilot or openai-codex'

/** `ended` is told the exit code of the command that ran. */
export function modelCommands(root: Command, world: ProcessWorld, ended: (code: number) => void): void {
  own(root.command('list-models').description('The models that can be asked from here, with their sizes.'))
    .argument('[search...]', 'letters in order, e.g. opus48 or 5sonnet')
    .option('--json', 'the same as one JSON object')
    .option('--all', 'every model that is known by name, with a key here or not')
    .option('--gateway-url <url>', 'as agent run takes it (AI_GATEWAY_URL)')
    .option('--key <key>', 'as agent run takes it (AI_AGENT_KEY)')
    .addHelpText(
      'after',
      '\nExamples:\n  agent list-models sonnet\n  agent list-models --all --json | jq .models',
    )
    .action(async (words: string[], raw: ListModelsOptions) => {
      ended(await (await import('./list-models.ts')).listModelsCommand(words, raw, world))
    })

  own(
    root
      .command('login')
      .description('Logs in to a provider with a subscription, in a browser or by a code.'),
  )
    .argument('<provider>', PROVIDER)
    .option('--device', 'openai-codex: by a code that is entered elsewhere')
    .option('--paste', 'anthropic: by a code that the page shows')
    .option('--enterprise <domain>', "github-copilot: a company's own GitHub")
    .addHelpText('after', '\nExamples:\n  agent login anthropic\n  agent login openai-codex --device')
    .action(async (name: string, raw: LoginOptions) => {
      ended(await (await import('./login.ts')).loginCommand(name, raw, world))
    })

  own(root.command('logout').description('Forgets the login of a provider.'))
    .argument('<provider>', PROVIDER)
    .action(async (name: string) => {
      ended(await (await import('./login.ts')).logoutCommand(name, world))
    })

  own(root.command('auth-status').description('logged_in, logged_out or needs_reauth; without the network.'))
    .argument('[provider]', `${PROVIDER}; none: all`)
    .option('--json', 'the same as one JSON object')
    .action(async (name: string | undefined, raw: { json?: boolean }) => {
      ended(await (await import('./login.ts')).authStatusCommand(name, raw, world))
    })

  const settings = own(
    root.command('settings').description('All settings and where each comes from; sets and clears them.'),
  ).option('--json', 'the same as one JSON object')
  for (const { flag, name, kind } of FIELDS) {
    if (flag !== null) {
      const option = new Option(`--${flag} <value>`, name)
      settings.addOption(kind.is === 'budgets' ? option.argParser(several) : option)
    }
    settings.option(`--clear-${flag ?? name}`, `takes ${name} out of the file`)
  }
  settings
    .option('--clear-unknown', 'takes out what no field is called')
    .addHelpText(
      'after',
      '\nExamples:\n  agent settings --model gpt-5 --default-reasoning-effort high\n  agent settings --clear-model',
    )
    .action(async (raw: Record<string, unknown>) => {
      ended(await (await import('../settings/settings-command.ts')).settingsCommand(raw, world))
    })
}

const several = (value: string, before: string[] | undefined) => [...(before ?? []), value]

function own(command: Command): Command {
  return command.exitOverride().addOption(new Option('--debug', 'show stacks of errors').hideHelp())
}

/** The flags about models of `run`, `serve` and what is like them. */
export function modelFlags(command: Command): Command {
  return command
    .option('--model <id>', 'model id, a part of one, or provider/id; :high sets the effort (AI_AGENT_MODEL)')
    .option(
      '--fallback-models <ids>',
      'asked in order when it can not answer, a,b (AI_AGENT_FALLBACK_MODELS)',
    )
    .option('--gateway-url <url>', 'a model gateway, used for every request (AI_GATEWAY_URL)')
    .option('--key <key>', 'virtual key of the gateway, bai_v1… (AI_AGENT_KEY)')
    .option('--max-tokens <n>', "of an answer, at least 4096, the model's maximum (AI_AGENT_MAX_TOKENS)")
    .option('--budget <usd>', 'what a run may cost; over it the run ends (AI_AGENT_BUDGET)')
    .option(
      '--reasoning-effort <level>',
      'off, minimal, low, medium, high or xhigh; medium where the model reasons (AI_AGENT_REASONING_EFFORT)',
    )
    .option('--thinking <tokens>', 'how many tokens it may think')
    .option('--temperature <n>', '0 to 2; left out where thinking forbids it')
    .option('--cache-long', 'prompt cache of 1 hour instead of 5 minutes')
    .option('--idle-timeout-ms <ms>', 'longest silence of a model, 300000 (AI_AGENT_IDLE_TIMEOUT_MS)')
    .option('--retry-max-retries <n>', 'how often a model is asked again, 3 (AI_AGENT_RETRY_MAX_RETRIES)')
    .option('--retry-base-delay-ms <ms>', 'first wait, doubled each time, 250 (AI_AGENT_RETRY_BASE_DELAY_MS)')
    .option('--retry-max-backoff-ms <ms>', 'longest wait, 60000 (AI_AGENT_RETRY_MAX_BACKOFF_MS)')
}
