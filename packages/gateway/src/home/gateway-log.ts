/**
 * `logs/gateway.log`: what the process does, one redacted line each, rotated by size while it runs; errors also as JSON
 * lines in `logs/error.log`. Losing a log line never stops the gateway.
 */
import { appendFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BeigeError, type Clock, explain } from '@beige/protocol'
import type { Redactor } from '../audit/redactor.ts'
import type { GatewaySettings } from '../config/resolved.ts'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]
const MAX_LINE_CHARS = 8000

export interface GatewayLog {
  write(level: Level, text: string): void
  /** What failed, for people in the log and with its stack in `error.log`. */
  error(what: string, error: unknown): void
}

export function createGatewayLog(parts: {
  path: string
  settings: GatewaySettings['log']
  redact: Redactor
  clock: Clock
  /** Also told each line, e.g. whoever waits for the start. */
  also(line: string): void
}): GatewayLog {
  const { path, settings, redact, clock } = parts
  const lowest = LEVELS.indexOf(settings.level)
  const stamp = () => new Date(clock.now()).toISOString()

  const append = (file: string, line: string) => {
    try {
      const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
      if (size + line.length > settings.maxSizeBytes) rotate(file, settings.maxFiles)
      appendFileSync(file, `${line}\n`, { mode: 0o600 })
    } catch {
      parts.also(line) // a full disk must not hide what happens
    }
  }
  const log: GatewayLog = {
    write(level, text) {
      if (LEVELS.indexOf(level) < lowest) return
      const line = `${stamp()} ${level.padEnd(5)} ${oneLine(redact(text.slice(0, MAX_LINE_CHARS)))}`
      append(path, line)
      parts.also(line)
    },
    error(what, error) {
      log.write('error', `${what}: ${explain(error)}`)
      const entry = {
        at: stamp(),
        what,
        message: explain(error),
        ...(error instanceof BeigeError ? { code: error.code } : {}),
        ...(error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {}),
      }
      append(join(dirname(path), 'error.log'), redact(JSON.stringify(entry)).slice(0, MAX_LINE_CHARS * 2))
    },
  }
  return log
}

/** `x.log` → `x.log.1` → `x.log.2` …; the last one goes. */
function rotate(file: string, maxFiles: number): void {
  rmSync(`${file}.${maxFiles}`, { force: true })
  for (let number = maxFiles - 1; number >= 1; number--) {
    if (statSync(`${file}.${number}`, { throwIfNoEntry: false }))
      renameSync(`${file}.${number}`, `${file}.${number + 1}`)
  }
  if (statSync(file, { throwIfNoEntry: false })) renameSync(file, `${file}.1`)
}

function oneLine(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
