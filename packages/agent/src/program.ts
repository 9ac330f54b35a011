/** The command line: what there is, its help, and what happens to bad usage. */
import { visible } from '@beige/client'
import { BeigeError, explain, messageOf } from '@beige/protocol'
import { Command, CommanderError, Option } from 'commander'
import type { RawConformanceOptions } from './conformance/exec-options.ts'
import { modelCommands, modelFlags } from './models/commands.ts'
import type { RawOptions } from './options.ts'
import type { ProcessWorld } from './process-world.ts'
import type { RawRunOptions } from './run/named-session.ts'
import type { RawServeOptions } from './serve/serve-options.ts'
import { exportCommands, sessionsCommands } from './sessions/commands.ts'
import { VERSION } from './version.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2
const EXIT_HELD = 75 // EX_TEMPFAIL of sysexits.h: another live owner has the session

/** Runs the command line; answers the exit code. Capabilities load when they are called, so `--version` stays quick. */
export async function program(argv: readonly string[], world: ProcessWorld): Promise<number> {
  let code = 0
  const root = new Command('agent')
    .description('Reads a task, calls a model, runs tools in a sandbox until the task is done.')
    .version(VERSION, '-v, --version')
    .exitOverride()
    .configureOutput({
      // The output of `--json` is events alone.
      writeOut: text => void (argv.includes('--json') ? world.stderr : world.stdout).write(text),
      writeErr: text => void world.stderr.write(text),
    })
    .addHelpText('after', examples)
    .helpCommand(false)

  shared(root.command('run').description('One task, or several in order; exits when they are done.'))
    .argument(
      '[task...]',
      'what to do; @path sends a file or an image along; may be left out with --resume or piped stdin',
    )
    .option('--json', 'events as JSON lines on stdout')
    .option('--session <session>', 'an id, a unique beginning of one, or a path of its log')
    .option('--fork <session>', 'a copy of that one, as a new session')
    .option('-n, --name <title>', 'title of a new session')
    .option(
      '--output-schema <schema>',
      'JSON Schema, or a file with one: the last line of stdout is JSON that matches (AI_AGENT_OUTPUT_SCHEMA)',
    )
    .option('--output-description <text>', 'what the model is told of that output')
    .option('--export <file>', 'the session as a page after the run, also after a failed one')
    .option(
      '--idempotency-key <key>',
      'with --session-id: run again after a crash goes on with that run, or repeats its answer',
    )
    .action(async (tasks: string[], raw: RawRunOptions) => {
      const { runCommand } = await import('./run/run.ts')
      code = await runCommand(tasks, raw, world)
    })

  serveFlags(
    shared(
      root
        .command('serve')
        .description('The serve protocol on stdin and stdout, or on listeners that share it.'),
    ),
  ).action(async (raw: RawOptions & RawServeOptions) => {
    const { serveCommand } = await import('./serve/serve.ts')
    code = await serveCommand(raw, world)
  })

  approvalFlags(
    shared(root.command('acp').description('The Agent Client Protocol on stdin and stdout, for editors.')),
  )
    .addHelpText('after', acpExample)
    .action(async (raw: RawOptions & RawServeOptions) => {
      const { acpCommand } = await import('./acp/acp.ts')
      code = await acpCommand(raw, world)
    })

  root
    .command('usage')
    .description('Tokens and cost of requests to models, by model, day and session.')
    .exitOverride()
    .option('--json', 'the same as one JSON object')
    .addOption(new Option('--debug', 'show stacks of errors').hideHelp())
    .action(async (raw: { json?: boolean }) => {
      const { usageCommand } = await import('./usage/usage.ts')
      code = await usageCommand(raw.json === true, world)
    })

  const ended = (exitCode: number) => {
    code = exitCode
  }
  modelCommands(root, world, ended)
  sessionsCommands(root, world, ended)
  exportCommands(root, world, ended)

  conformance(root, async raw => {
    const { conformanceExec } = await import('./conformance/exec.ts')
    code = await conformanceExec(raw, world)
  })

  try {
    if (argv.length === 0) root.outputHelp()
    else await root.parseAsync([...argv], { from: 'user' })
    return code
  } catch (error) {
    return failed(error, argv, world)
  }
}

const several = (value: string, before: string[] | undefined) => [...(before ?? []), value]

function conformance(root: Command, act: (raw: RawConformanceOptions) => Promise<void>): void {
  root
    .command('conformance')
    .description('Proves that an endpoint does what its protocol says.')
    .exitOverride()
    .command('exec')
    .description('Runs every check of exec/2 on an exec endpoint; exit 1 when one fails.')
    .exitOverride()
    .option('--url <url>', 'http(s) URL, or unix:/path (AGENT_CONFORMANCE_EXEC_URL)')
    .option('--header <line>', '"Name: value", may be repeated (AGENT_CONFORMANCE_EXEC_HEADER)', several)
    .option('--json', 'one report as JSON instead of lines')
    .option('--only <name>', 'this check alone, may be repeated', several)
    .option('--programs <file>', 'a static busybox that is written to an endpoint without a shell')
    .option('--folder <path>', 'where the checks make their files at the endpoint')
    .option('--notify-listen <place>', 'host:port or unix:/path where ends of jobs are told')
    .option('--notify-url <url>', 'how the endpoint reaches that; none: not at all')
    .option('--token-file <path>', 'where the endpoint keeps its token, which no command may read')
    .option('--patience <factor>', 'multiplies every limit of time, for a slow way')
    .addOption(new Option('--debug', 'show stacks of errors').hideHelp())
    .action(act)
}

function shared(command: Command): Command {
  return modelFlags(command.exitOverride())
    .option(
      '--sandbox <where>',
      'auto, docker, bubblewrap, host (unsafe) or an exec endpoint: http(s) URL, unix:/path (AI_AGENT_SANDBOX)',
    )
    .option('--exec-url <url>', 'an exec endpoint, as --sandbox takes it (AI_AGENT_EXEC_URL)')
    .option('--exec-header <line>', '"Name: value" for it, may be repeated (AI_AGENT_EXEC_HEADER)', several)
    .option('--sandbox-image <image>', 'image for docker (AI_AGENT_SANDBOX_IMAGE)')
    .option('--session-id <id>', 'open exactly this session, or make it')
    .option('-c, --continue', 'the newest session of this directory, else a new one')
    .option('--resume', 'go on with a run that was cut off, instead of closing it')
    .option('--session-dir <dir>', 'where sessions are kept (AI_AGENT_SESSION_DIR)')
    .option('--store <where>', 'files, memory or postgres://host/database (AI_AGENT_STORE)')
    .option('--no-session-persistence', 'keep the session in memory')
    .option('--dek-file <file>', 'seals sessions with this key (AI_AGENT_DEK_FILE)')
    .option(
      '--old-dek-file <file>',
      'a key that only reads, may be repeated (AI_AGENT_OLD_DEK_FILE)',
      several,
    )
    .option('--tenant <name>', 'whose sessions they are sealed as, local (AI_AGENT_TENANT)')
    .option('--max-steps <n>', 'model turns a run may take')
    .option('--bash-silent-ms <ms>', 'a command that says nothing for so long goes on as a job (60000)')
    .option('--job-lifetime-ms <ms>', 'a command that nobody ended is killed after this time (24 h)')
    .option('--on-job-end <what>', 'note: told at the next run; wake: begins one; note (AI_AGENT_ON_JOB_END)')
    .option(
      '--notify-origin <url>',
      'where sandboxes report ended jobs: an agent serve (AI_AGENT_NOTIFY_ORIGIN)',
    )
    .option('--system-prompt <text>', 'replaces the built-in one (AI_AGENT_SYSTEM_PROMPT)')
    .addOption(new Option('--debug', 'show stacks of errors').hideHelp())
}

function serveFlags(command: Command): Command {
  return approvalFlags(command)
    .option('--listen <address>', 'IP:PORT, loopback only (AI_AGENT_LISTEN)')
    .option('--tls-listen <address>', 'IP:PORT with TLS (AI_AGENT_TLS_LISTEN)')
    .option('--tls-cert <file>', 'PEM, read again when it changes (AI_AGENT_TLS_CERT)')
    .option('--tls-key <file>', 'PEM (AI_AGENT_TLS_KEY)')
    .option('--listen-uds <path>', 'a Unix socket (AI_AGENT_LISTEN_UDS)')
    .option('--listen-uds-mode <octal>', 'its mode, 0600 (AI_AGENT_LISTEN_UDS_MODE)')
    .option(
      '--auth-token-file <file>',
      'bearer tokens, serve-tokens in the state directory (AI_AGENT_AUTH_TOKEN_FILE)',
    )
    .option('--require-token', 'a token from the same user on loopback too')
    .option('--allow-plaintext', 'other addresses than loopback without TLS')
    .option(
      '--allow-host <name>',
      'host name that may be asked for, .suffix for a domain, may be repeated (AI_AGENT_ALLOW_HOST)',
      several,
    )
    .option(
      '--allow-origin <origin>',
      'web origin that may connect, may be repeated (AI_AGENT_ALLOW_ORIGIN)',
      several,
    )
    .option('--max-connections <n>', 'at a time, 1024 (AI_AGENT_MAX_CONNECTIONS)')
    .option(
      '--session-idle-timeout <s>',
      'a session that nobody needs is released, 3600, 0 never (AI_AGENT_SESSION_IDLE_TIMEOUT)',
    )
    .option('--drain-grace <s>', 'how long runs may go on at the end, 0 (AI_AGENT_DRAIN_GRACE)')
    .option('--lifecycle-url <url>', 'told of starts and ends of runs (AI_AGENT_LIFECYCLE_URL)')
    .option(
      '--lifecycle-header <line>',
      '"Name: value" for it, may be repeated (AI_AGENT_LIFECYCLE_HEADER)',
      several,
    )
    .option(
      '--lifecycle-heartbeat-secs <s>',
      'progress in between, 10, 0 off (AI_AGENT_LIFECYCLE_HEARTBEAT_SECS)',
    )
    .addHelpText('after', serveExamples)
}

function approvalFlags(command: Command): Command {
  return command
    .option('--approve <mode>', 'ask before: off, writes, all, tools:a,b (AI_AGENT_APPROVE)')
    .option('--approval-timeout <s>', 'unanswered means no, 300, 0 never (AI_AGENT_APPROVAL_TIMEOUT)')
}

const acpExample = `
In Zed's settings:
  "agent_servers": { "Beige": { "command": "agent", "args": ["acp", "--approve", "writes"] } }
`

const serveExamples = `
Examples:
  agent serve --listen 127.0.0.1:7777
  curl -s 127.0.0.1:7777/_beyond/agent?session_id=one -H 'Content-Type: application/json' -d '{"type":"prompt","message":"hi"}'
  curl -sN 127.0.0.1:7777/_beyond/agent?session_id=one -H 'Accept: text/event-stream'
  agent serve --listen-uds /run/user/1000/agent.sock --approve writes
`

function failed(error: unknown, argv: readonly string[], world: ProcessWorld): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  const debug = argv.includes('--debug')
  if (debug && error instanceof Error) world.stderr.write(`${error.stack}\n`)
  if (error instanceof BeigeError) {
    world.stderr.write(`${visible(explain(error))}\n`)
    if (error.code === 'login') return EXIT_FAILED
    return error.code === 'session_busy' ? EXIT_HELD : EXIT_USAGE
  }
  const hint = debug ? '' : '. Run it again with --debug to see where'
  world.stderr.write(`agent failed: ${visible(messageOf(error))}${hint}\n`)
  return EXIT_FAILED
}

const examples = `
Examples:
  agent run "the login test fails, find out why and fix it"
  agent run -c "now do the same for logout"
  agent run --json --sandbox bubblewrap "count the lines of README.md" | jq .
  agent serve --session-id review-17
  agent run --store postgres://db.internal/sessions "go on with the migration"
  agent conformance exec --url http://127.0.0.1:8080 --header "Authorization: Bearer …"
`
