/**
 * `npm run torture -- sessions --seed N --seconds S --store files|postgres`: real processes that are killed, stopped and cut
 * off. Its last line says what was lost of what clients were told, and how long sessions were without an owner.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { lastLine, lateTakeovers, troublesLine } from './report.ts'
import { tortureSessions } from './run-sessions.ts'

export const SESSIONS_USAGE =
  'npm run torture -- sessions [--seed n] [--seconds n] [--store files|postgres]\n'
const SHOWN = 20

/** Answers with the exit code. */
export async function tortureSessionsCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      seconds: { type: 'string', default: '60' },
      store: { type: 'string', default: 'files' },
    },
  })
  const [seed, seconds] = [values.seed, values.seconds].map(Number)
  const { store } = values
  const areNumbers = [seed, seconds].every(number => Number.isSafeInteger(number) && Number(number) >= 0)
  if (positionals.length > 0 || !areNumbers || !seconds || (store !== 'files' && store !== 'postgres')) {
    process.stderr.write(`usage: ${SESSIONS_USAGE}`)
    return 2
  }
  const say = (text: string): void => void process.stderr.write(`${text}\n`)
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  say(`seed ${seed}, store ${store}, ${seconds} s`)
  const repository = join(import.meta.dirname, '../../..')
  const result = await tortureSessions({
    ...{ repository, seed: seed ?? 0, seconds, store, say, signal: interrupted.signal },
  })
  for (const one of result.violations.slice(0, SHOWN)) say(`${one.kind} in ${one.session}: ${one.says}`)
  for (const text of result.unexpected.slice(0, SHOWN)) say(`unexpected: ${text}`)
  for (const text of lateTakeovers(result.takeovers)) say(`late: ${text}`)
  process.stdout.write(`${troublesLine(result)}\n${lastLine(result)}\n`)
  const isRight = result.violations.length + result.unexpected.length === 0
  return isRight && lateTakeovers(result.takeovers).length === 0 ? 0 : 1
}
