/** Tool calls as an editor shows them. Pure. */
import type { ToolCall, ToolCallContent, ToolCallUpdate, ToolKind } from '@agentclientprotocol/sdk'
import { subjectOf } from '@beige/client'
import type { ApprovalRequest } from '@beige/protocol'
import type { Workspace } from './prompt-blocks.ts'

const KINDS: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  ls: 'search',
  grep: 'search',
  find: 'search',
  edit: 'edit',
  write: 'edit',
  patch: 'edit',
  bash: 'execute',
  exec: 'execute',
  bash_job: 'execute',
  web: 'fetch',
}

export type StartedCall = { id: string; name: string; input: unknown }

export function kindOf(tool: string): ToolKind {
  return KINDS[tool] ?? 'other'
}

export function startedCall({ id, name, input }: StartedCall, workspace: Workspace): ToolCall {
  const path = textField(input, 'path')
  const subject = subjectOf(input)
  return {
    toolCallId: id,
    title: subject === '' ? name : `${name} ${subject}`,
    kind: kindOf(name),
    status: 'in_progress',
    rawInput: input,
    ...(path === undefined ? {} : { locations: [{ path: workspace.outside(path) }] }),
    content: diffOf(name, input, workspace),
  }
}

/** What a file tool changes, out of its input: an editor shows it beside the file. */
export function diffOf(name: string, input: unknown, workspace: Workspace): ToolCallContent[] {
  const path = textField(input, 'path')
  if (path === undefined) return []
  const diff = (oldText: string | null, newText: string): ToolCallContent => ({
    type: 'diff',
    path: workspace.outside(path),
    oldText,
    newText,
  })
  if (name === 'write') return [diff(null, textField(input, 'content') ?? '')]
  if (name !== 'edit') return []
  const edits = typeof input === 'object' && input !== null && 'edits' in input ? input.edits : [input]
  if (!Array.isArray(edits)) return []
  return edits.flatMap((edit: unknown) => {
    const [from, to] = [textField(edit, 'old_string'), textField(edit, 'new_string')]
    return from === undefined || to === undefined ? [] : [diff(from, to)]
  })
}

/** The question as an editor asks it: its call, with what would be changed or run. */
export function askedCall(
  { call_id, tool, summary, why, preview }: ApprovalRequest,
  started: StartedCall | undefined,
  workspace: Workspace,
): ToolCallUpdate {
  const diff = started ? diffOf(tool, started.input, workspace) : []
  const text = [why, preview].filter(one => one !== undefined && one !== '').join('\n\n')
  return {
    toolCallId: call_id,
    title: summary,
    kind: kindOf(tool),
    status: 'pending',
    content: diff.length > 0 || text === '' ? diff : [textContent(text)],
    ...(started ? { rawInput: started.input } : {}),
  }
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } }
}

function textField(value: unknown, name: string): string | undefined {
  const field: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return typeof field === 'string' ? field : undefined
}
