/** What a tool says when a file call failed: what failed, what is there instead, what to do next. */
import { posix } from 'node:path'
import { isError, nearest } from '@beige/protocol'
import type { ExecClient } from '@beige/sandbox'
import type { ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import type { Place } from './paths.ts'
import { visibleText } from './visible-text.ts'

const MAX_LINKS = 40 // followed, as in Linux
const MAX_NAMES = 5000 // of a directory, looked at for near ones

export type Found = { kind: 'file' | 'directory' | 'fifo' | 'device' | 'socket'; mode: number; size: number }

/** What is at the end of the links; null when nothing is. Rejects with `file_refused` where it may not look. */
export async function whatIsAt({ exec, path }: Place, signal: AbortSignal): Promise<Found | null> {
  let at = path
  try {
    for (let links = 0; links < MAX_LINKS; links++) {
      const { kind, mode, size, target } = await exec.stat(at, signal)
      if (kind !== 'symlink') return { kind, mode, size }
      if (target === undefined) return null
      // Not normalised: behind a link, `..` leads elsewhere than it says.
      at = target.startsWith('/') ? target : `${posix.dirname(at)}/${target}`
    }
    return null
  } catch (error) {
    if (isError(error, 'file_not_found', 'bad_path')) return null
    throw error
  }
}

/** The result for an error of a file call; an abort and a failing endpoint are thrown on, for the pipeline to render. */
export async function fileFailure(error: unknown, place: Place, context: ToolContext): Promise<ToolResult> {
  const { path } = place
  const { signal } = context
  signal.throwIfAborted()
  if (isError(error, 'file_not_found')) return await notFound(place, signal)
  if (isError(error, 'file_changed')) return stale(path)
  if (isError(error, 'bad_path')) return errorResult('invalid_input', error.message)
  if (isError(error, 'request_too_large', 'answer_too_large')) {
    return errorResult('limit', `${path}: ${error.message}. ${error.advice}`, { path })
  }
  if (isError(error, 'endpoint_refused') && error.data.status === 507) {
    return errorResult(
      'no_space',
      `no space left for ${path}: nothing was written. Free some and try again`,
      { path },
    )
  }
  if (isError(error, 'endpoint_refused') && error.data.code === 'conflict') {
    return errorResult('wrong_kind', `${withPath(path, error.data.message)}. Something else is in the way`, {
      path,
    })
  }
  if (!isError(error, 'file_refused')) throw error
  const found = await whatIsAt(place, signal).catch(refused => {
    if (isError(refused, 'file_refused')) return null
    throw refused
  })
  if (found && found.kind !== 'file') return wrongKind(path, found.kind)
  const text = withPath(path, error.data.message)
  // 403 is what the system may not do for us, 400 what nobody could: a name too long, links in a circle.
  if (error.data.status === 400) return errorResult('invalid_input', text, { path })
  const mode = found ? ` (mode ${modeText(found.mode)})` : ''
  return errorResult('permission', `${text}${mode}`, { path })
}

/** The same for a call that looks into a directory. */
export async function directoryFailure(
  error: unknown,
  place: Place,
  context: ToolContext,
): Promise<ToolResult> {
  const isShut = isError(error, 'file_refused') && error.data.status === 403
  if (!isShut && !isError(error, 'shut_directory')) return await fileFailure(error, place, context)
  const found = await whatIsAt(place, context.signal).catch(() => null)
  const mode = found ? ` (mode ${modeText(found.mode)})` : ''
  return errorResult('permission', `${place.path}: Permission denied${mode}`, { path: place.path })
}

export function stale(path: string): ToolResult {
  const text = `${path} has changed since this session read it: nothing was written. Read it again, then repeat the change`
  return errorResult('stale', text, { path })
}

export function wrongKind(path: string, kind: Exclude<Found['kind'], 'file'>): ToolResult {
  const text =
    kind === 'directory'
      ? `${path} is a directory, not a file: list it with the command ls`
      : `${path} is a ${kind}, not a regular file: it was not opened`
  return errorResult('wrong_kind', text, { path, kind })
}

export function readOnly(path: string, mode: number): ToolResult {
  const text = `${path} is read-only (mode ${modeText(mode)}): nothing was written. If that is meant, make it writable first`
  return errorResult('permission', text, { path })
}

/** Nobody may write it. A rename in its directory could, but the mode says that somebody did not want that. */
export const isReadOnly = (mode: number): boolean => (mode & 0o222) === 0

function withPath(path: string, message: unknown): string {
  const text = String(message)
  return text.includes(path) ? text : `${path}: ${text}`
}

const modeText = (mode: number) => (mode & 0o7777).toString(8).padStart(4, '0')

async function notFound({ exec, path }: Place, signal: AbortSignal): Promise<ToolResult> {
  const text = `no such file: ${path}`
  const names = await namesIn(exec, posix.dirname(path), signal)
  if (names === null)
    return errorResult('not_found', `${text}; its directory does not exist either`, { path })
  const near = nearest(posix.basename(path), names).map(name => posix.join(posix.dirname(path), name))
  return errorResult(
    'not_found',
    near.length > 0 ? `${text}; near it: ${near.map(name => visibleText(name, 'whole')).join(', ')}` : text,
    {
      path,
      near,
    },
  )
}

/** Null when there is no such directory. */
async function namesIn(exec: ExecClient, directory: string, signal: AbortSignal): Promise<string[] | null> {
  try {
    const { entries } = await exec.list(directory, signal, { depth: 1, limit: MAX_NAMES })
    return entries.map(entry => posix.basename(entry.path))
  } catch (error) {
    if (isError(error, 'file_not_found')) return null
    if (isError(error, 'file_refused', 'answer_too_large')) return []
    throw error
  }
}
