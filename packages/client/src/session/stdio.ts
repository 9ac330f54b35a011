/** One channel to an `agent serve` that this process starts, or over `ssh host agent serve`. */
import { spawn } from 'node:child_process'
import type { Dialer } from './channel.ts'

export type StdioOptions = {
  /** Program and arguments, e.g. `['agent', 'serve', '--session-id', 's_1']`. */
  command: readonly [string, ...string[]]
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Gets what it writes to stderr; default: this process's stderr. */
  onLog?: (text: string) => void
}

/** Starts the command when dialled; closing the channel closes its stdin, which ends it. */
export function stdioDialer({ command, cwd, env, onLog }: StdioOptions): Dialer {
  const [program, ...args] = command
  return {
    address: command.join(' '),
    canReopen: false,
    dial: (_sessionId, _ask, listener) => {
      const child = spawn(program, args, {
        stdio: ['pipe', 'pipe', onLog ? 'pipe' : 'inherit'],
        ...(cwd && { cwd }),
        ...(env && { env }),
      })
      let why = ''
      let rest = ''
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) listener.text(line)
      })
      child.stderr?.setEncoding('utf8').on('data', (text: string) => onLog?.(text))
      child.stdin?.on('error', () => {}) // it has ended; `close` says so
      child.on('error', error => {
        why = error.message
      })
      child.on('close', (code, signal) => {
        listener.end({ code: null, reason: why || `it ended with ${signal ?? `exit code ${code}`}` })
      })
      return {
        send: text => void child.stdin?.write(`${text}\n`),
        close: () => void child.stdin?.end(),
      }
    },
  }
}
