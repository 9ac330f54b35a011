/** `npm run torture -- exec | sessions`: real processes, hurt at random. The options of each are in its `command.ts`. */
import { messageOf } from '@beige/protocol'
import { EXEC_USAGE, tortureExec } from './exec/command.ts'
import { SESSIONS_USAGE, tortureSessionsCommand } from './sessions/command.ts'

const [what, ...args] = process.argv.slice(2)
const commands = new Map([
  ['exec', tortureExec],
  ['sessions', tortureSessionsCommand],
])
const command = commands.get(what ?? '')
if (command) {
  try {
    process.exitCode = await command(args)
  } catch (error) {
    process.stderr.write(`torture: ${messageOf(error)}\n`)
    process.exitCode = 2
  }
} else {
  process.stderr.write(`usage: ${EXEC_USAGE}       ${SESSIONS_USAGE}`)
  process.exitCode = what === '--help' ? 0 : 2
}
