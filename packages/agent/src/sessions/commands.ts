/** The `sessions` commands as the command line knows them; each loads what it needs when it is called. */
import { type Command, Option } from 'commander'
import type { ExportOptions } from '../export/export.ts'
import type { ProcessWorld } from '../process-world.ts'
import type { ListOptions } from './list.ts'
import type { PlaceOptions } from './place.ts'
import type { GcOptions } from './remove.ts'
import type { ShowOptions } from './show.ts'

/** `ended` is told the exit code of the command that ran. */
export function sessionsCommands(root: Command, world: ProcessWorld, ended: (code: number) => void): void {
  const group = root
    .command('sessions')
    .description('What sessions there are; look at them, mend and remove them.')
    .exitOverride()
    .helpCommand(false)
    .addHelpText('after', EXAMPLES)

  paged(group.command('list').description('Sessions of this directory, newest first.'))
    .option('--all', 'those of every directory')
    .option('--query <text>', 'with this in title, id or directory')
    .action(async (raw: ListOptions) => {
      ended(await (await import('./list.ts')).listCommand(raw, world))
    })

  placed(group.command('show').description('What a session is, and its current branch.'))
    .argument('<session>', SESSION)
    .option('--limit <n>', 'so many of the newest entries (40)')
    .action(async (name: string, raw: ShowOptions) => {
      ended(await (await import('./show.ts')).showCommand(name, raw, world))
    })

  placed(
    group
      .command('check')
      .description(
        'What is damaged, where, and what is lost by it; exit 1 when something is. Changes nothing.',
      ),
  )
    .argument('[session]', `${SESSION}; none: all there are`)
    .action(async (name: string | undefined, raw: PlaceOptions) => {
      ended(await (await import('./check.ts')).checkCommand(name, raw, world))
    })

  placed(group.command('repair').description('Writes a log anew without what is damaged; copies are kept.'))
    .argument('<session>', SESSION)
    .action(async (name: string, raw: PlaceOptions) => {
      ended(await (await import('./check.ts')).repairCommand(name, raw, world))
    })

  placed(group.command('rm').description('Moves sessions to the trash.'))
    .argument('<session...>', SESSION)
    .action(async (names: string[], raw: PlaceOptions) => {
      ended(await (await import('./remove.ts')).removeCommand(names, raw, world))
    })

  placed(group.command('restore').description('Brings a session back from the trash.'))
    .argument('<session>', 'its id, or a unique beginning of it')
    .action(async (name: string, raw: PlaceOptions) => {
      ended(await (await import('./remove.ts')).restoreCommand(name, raw, world))
    })

  placed(group.command('trash').description('What can be restored.')).action(async (raw: PlaceOptions) => {
    ended(await (await import('./list.ts')).trashCommand(raw, world))
  })

  placed(
    group.command('gc').description('Removes sessions without a prompt, and old ones of the trash for good.'),
  )
    .option('--days <n>', 'how long the trash keeps them (30); 0 empties it')
    .option('--dry-run', 'only say what would go')
    .action(async (raw: GcOptions) => {
      ended(await (await import('./remove.ts')).gcCommand(raw, world))
    })

  placed(
    group
      .command('rewrap')
      .description(
        'Moves all sessions to the newest key, also those that were never sealed; again after a kill.',
      ),
  ).action(async (raw: PlaceOptions) => {
    ended(await (await import('./rewrap.ts')).rewrapCommand(raw, world))
  })

  placed(
    group.command('migrate').description('Brings the schema of a database of sessions up to date.'),
  ).action(async (raw: PlaceOptions) => {
    ended(await (await import('./migrate.ts')).migrateCommand(raw, world))
  })
}

/** `agent export`. */
export function exportCommands(root: Command, world: ProcessWorld, ended: (code: number) => void): void {
  placed(root.command('export').description('A session as a page, as plain records, or as a session of pi.'))
    .argument('<session>', SESSION)
    .argument('[out]', 'the file; - is stdout; none: session-<seconds>.html here')
    .addOption(
      new Option(
        '--format <format>',
        'html: one page without scripts; jsonl: the records; pi: for pi --session',
      )
        .choices(['html', 'jsonl', 'pi'])
        .default('html'),
    )
    .action(async (name: string, out: string | undefined, raw: ExportOptions) => {
      ended(await (await import('../export/export.ts')).exportCommand(name, out, raw, world))
    })
}

const SESSION = 'an id, a unique beginning of one, or a path of its log'

const several = (value: string, before: string[] | undefined) => [...(before ?? []), value]

function placed(command: Command): Command {
  return command
    .exitOverride()
    .option('--session-dir <dir>', 'where sessions are kept (AI_AGENT_SESSION_DIR)')
    .option('--store <where>', 'files, or postgres://host/database (AI_AGENT_STORE)')
    .option('--dek-file <file>', 'the key that sessions are sealed with (AI_AGENT_DEK_FILE)')
    .option('--old-dek-file <file>', 'one that only reads, may be repeated (AI_AGENT_OLD_DEK_FILE)', several)
    .option('--tenant <name>', 'whose sessions they are sealed as, local (AI_AGENT_TENANT)')
    .option('--json', 'one JSON object for programs')
    .addOption(new Option('--debug', 'show stacks of errors').hideHelp())
}

function paged(command: Command): Command {
  return placed(command)
    .option('--limit <n>', 'at most so many (50, up to 500)')
    .option('--offset <n>', 'from the n-th on')
}

const EXAMPLES = `
Examples:
  agent sessions list --all --query login
  agent sessions show s_01K
  agent sessions check && echo all whole
  agent sessions gc --days 7 --dry-run
  agent sessions rewrap --dek-file new.key --old-dek-file old.key
  agent sessions migrate --store postgres://db.internal/sessions
`
