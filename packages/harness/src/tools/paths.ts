/** From what a model writes as a path to an absolute path of the sandbox (design page "Harness", What every tool keeps). */
import { posix } from 'node:path'
import type { ExecClient } from '@beige/sandbox'
import type { ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

export const MAX_PATH_BYTES = 4096 // PATH_MAX of Linux

const EXOTIC_SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g

/** A leading `@` is dropped, Unicode spaces become plain ones. */
export function tidyPath(path: string): string {
  return (path.startsWith('@') ? path.slice(1) : path).replace(EXOTIC_SPACES, ' ')
}

export type Place = { exec: ExecClient; generation: string; path: string }
export type Placed = { ok: true; place: Place } | { ok: false; result: ToolResult }

/** Opens the sandbox and makes `input` absolute. Relative means `context.cwd`; `..` is resolved before links are. */
export async function placeOf(input: string, context: ToolContext, facts: SandboxFacts): Promise<Placed> {
  const tidy = tidyPath(input)
  const wrong = whatIsWrong(tidy)
  if (wrong) return { ok: false, result: errorResult('invalid_input', `not a path: ${wrong}`) }
  const opened = await context.hands.open(context.signal)
  const inHome = tidy === '~' || tidy.startsWith('~/')
  const home = inHome ? await facts.home(opened, context.signal) : null
  if (inHome && home === null) {
    const text = 'this sandbox has no home directory (HOME is not set): give an absolute path instead of ~'
    return { ok: false, result: errorResult('not_found', text) }
  }
  const path = posix.resolve(context.cwd, home === null ? tidy : `${home}/${tidy.slice(2)}`)
  return { ok: true, place: { exec: opened.exec, generation: opened.generation, path } }
}

function whatIsWrong(path: string): string | null {
  if (path === '') return 'it is empty'
  if (path.includes('\0')) return 'it has a zero byte'
  if (!path.isWellFormed()) return 'it has half a surrogate pair'
  const bytes = Buffer.byteLength(path)
  return bytes > MAX_PATH_BYTES ? `it has ${bytes} bytes, at most ${MAX_PATH_BYTES} are possible` : null
}
