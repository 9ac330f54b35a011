/**
 * Step 4 of the tool pipeline: whether a person is asked about a call, and what they are shown. A preview is made from what
 * would really happen: a file tool runs once with hands that keep what it would write.
 */
import { isError, PREVIEW_BYTES } from '@beige/protocol'
import { unifiedDiff } from './diff.ts'
import { cutText } from './output/index.ts'
import type { Hands, Tool, ToolCall, ToolContext } from './tool.ts'

export type Preview = {
  /** One line: what would be done. */
  summary: string
  /** What it would touch: a path, or the folder a command runs in. */
  touches: string | null
  /** A unified diff, or the whole command. */
  text: string | null
  /** What a remembered decision is for. */
  scopeKey: string
  /** False where what it was made from has changed since. */
  stillHolds(signal: AbortSignal): Promise<boolean>
}

export type ApprovalAnswer =
  | { allow: true }
  | { allow: false; why: 'rejected' | 'timed_out' | 'cancelled' | 'no_client'; text: string }

/** Who is asked, and what was decided before. */
export interface ApprovalGate {
  needs(tool: Tool, input: unknown): boolean
  /** Never rejects: an abort is `cancelled`. */
  ask(call: ToolCall, preview: Preview, signal: AbortSignal): Promise<ApprovalAnswer>
}

const SUMMARY_CHARS = 200

export async function previewOf(tool: Tool, call: ToolCall, context: ToolContext): Promise<Preview> {
  const { input } = call
  if (effectOf(tool, input) === 'writes') {
    const written = await dryRun(tool, input, context)
    if (written) return ofFile(tool.name, written, context)
  }
  const command = stringIn(input, 'command')
  if (command !== null) {
    const cwd = stringIn(input, 'cwd') ?? context.cwd
    return {
      ...{ summary: `${tool.name}: ${oneLine(command)}`, touches: cwd, scopeKey: `${command}\n${cwd}` },
      ...{ text: cutText(command, PREVIEW_BYTES), stillHolds: async () => true },
    }
  }
  const given = JSON.stringify(input) ?? ''
  return {
    ...{ summary: `${tool.name} ${oneLine(given)}`, touches: stringIn(input, 'path'), scopeKey: tool.name },
    ...{ text: cutText(given, PREVIEW_BYTES), stillHolds: async () => true },
  }
}

/** What a call does to the world, as far as its tool can tell. */
export function effectOf(tool: Tool, input: unknown): 'reads' | 'writes' | 'acts' {
  return tool.effect?.(input) ?? 'acts'
}

type Written = { path: string; before: Uint8Array; after: Uint8Array; etag: string | null }

/** Null where it would write nothing, e.g. because it would fail. */
async function dryRun(tool: Tool, input: unknown, context: ToolContext): Promise<Written | null> {
  const kept: { path: string; bytes: Uint8Array }[] = []
  const hands: Hands = {
    id: context.hands.id,
    open: async signal => {
      const opened = await context.hands.open(signal)
      const writeFile: typeof opened.exec.writeFile = async (path, bytes) => {
        kept.push({ path, bytes })
        return { etag: '', created: false }
      }
      return { ...opened, exec: { ...opened.exec, writeFile } }
    },
  }
  const { isError: failed } = await tool.run(input, {
    ...context,
    hands,
    seenFiles: new Map(context.seenFiles),
  })
  const [file] = kept
  if (failed || !file) return null
  const now = await contentOf(file.path, context)
  return {
    path: file.path,
    before: now?.bytes ?? new Uint8Array(0),
    after: file.bytes,
    etag: now?.etag ?? null,
  }
}

async function contentOf(path: string, { hands, signal }: Pick<ToolContext, 'hands' | 'signal'>) {
  const { exec } = await hands.open(signal)
  try {
    return await exec.readFile(path, signal)
  } catch (error) {
    if (isError(error, 'file_not_found')) return null
    throw error
  }
}

function ofFile(name: string, { path, before, after, etag }: Written, context: ToolContext): Preview {
  const diff = unifiedDiff(path, before, after)
  const counts = diff ? `+${diff.added} -${diff.removed}` : `${after.length} bytes`
  return {
    summary: `${name} ${path} (${etag === null ? 'new, ' : ''}${counts})`,
    touches: path,
    text: diff ? cutText(diff.text, PREVIEW_BYTES) : null,
    scopeKey: path,
    stillHolds: async signal => {
      const now = await contentOf(path, { hands: context.hands, signal })
      return (now?.etag ?? null) === etag
    },
  }
}

function stringIn(input: unknown, name: string): string | null {
  if (typeof input !== 'object' || input === null) return null
  const value: unknown = Object.entries(input).find(([key]) => key === name)?.[1]
  return typeof value === 'string' ? value : null
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > SUMMARY_CHARS ? `${line.slice(0, SUMMARY_CHARS)}…` : line
}
