/**
 * Reads the notes that a workspace has for agents: AGENTS.md, else CLAUDE.md, of each directory from `/` down to `cwd`.
 * An agent can write them, so they are read through its sandbox (G1 of security.md) and are only ever text.
 */
import { posix } from 'node:path'
import { isError } from '@beige/protocol'
import type { ExecClient } from '@beige/sandbox'
import { charStartBefore } from './output/limits.ts'

export const MAX_CONTEXT_FILE_BYTES = 64 * 1024
export const MAX_CONTEXT_BYTES = 256 * 1024 // all files together

/** Of a directory the first that is there. */
export const CONTEXT_FILE_NAMES: readonly string[] = [
  'AGENTS.md',
  'agents.md',
  'Agents.md',
  'CLAUDE.md',
  'claude.md',
  'Claude.md',
]

const MAX_DIRECTORIES = 32 // above `cwd`, the nearest ones
const FRONTMATTER = /^---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|$)/
const CLOSING_MARK = /<\/(?=workspace_notes)/gi // of the block that the system prompt puts the text into

/** `truncated`: there is more in the file, which whoever shows it says. */
export type ContextFile = { path: string; text: string; truncated: boolean }

/** Outermost first. What is no regular file, blank or not there is passed over. Rejects when the endpoint fails. */
export async function readContextFiles(
  exec: ExecClient,
  cwd: string,
  signal: AbortSignal,
): Promise<ContextFile[]> {
  const found = await Promise.all(directoriesTo(cwd).map(directory => firstIn(exec, directory, signal)))
  const files: ContextFile[] = []
  let room = MAX_CONTEXT_BYTES
  // The nearest file matters most, so the room is given from the inside out.
  for (const file of found.reverse()) {
    if (!file || room <= 0) continue
    const cut = cutFile(file, Math.min(room, MAX_CONTEXT_FILE_BYTES))
    if (cut.text.trim() === '') continue
    room -= Buffer.byteLength(cut.text)
    files.unshift(cut)
  }
  return files
}

function directoriesTo(cwd: string): string[] {
  const directories: string[] = []
  for (let at = posix.resolve('/', cwd); directories.length < MAX_DIRECTORIES; at = posix.dirname(at)) {
    directories.unshift(at)
    if (at === '/') break
  }
  return directories
}

type Fetched = { path: string; bytes: Uint8Array }

async function firstIn(exec: ExecClient, directory: string, signal: AbortSignal): Promise<Fetched | null> {
  const candidates = await Promise.all(
    CONTEXT_FILE_NAMES.map(name => fetched(exec, posix.join(directory, name), signal)),
  )
  return candidates.find(file => file !== null && new TextDecoder().decode(file.bytes).trim() !== '') ?? null
}

async function fetched(exec: ExecClient, path: string, signal: AbortSignal): Promise<Fetched | null> {
  try {
    const { bytes } = await exec.readFile(path, signal, { start: 0, end: MAX_CONTEXT_FILE_BYTES + 1 })
    return { path, bytes }
  } catch (error) {
    // A directory, a fifo, a device, or one that the sandbox's user may not read: its kind is checked before it is opened.
    if (isError(error, 'file_not_found', 'file_refused')) return null
    throw error
  }
}

function cutFile({ path, bytes }: Fetched, maxBytes: number): ContextFile {
  const truncated = bytes.length > maxBytes
  const kept = truncated ? bytes.subarray(0, charStartBefore(bytes, maxBytes)) : bytes
  const text = new TextDecoder().decode(kept).replace(FRONTMATTER, '').replace(CLOSING_MARK, '< /')
  return { path, text: text.trimEnd(), truncated }
}
