/** The unified diff of a change, for people (`details.diff`); models are never shown it. Pure. */
import { formatPatch, structuredPatch } from 'diff/lib/patch/create.js'
import { cutText, sizeText } from './output/index.ts'

export const MAX_DIFF_BYTES = 256 * 1024

const CONTEXT_LINES = 3
const MAX_EDIT_LENGTH = 4000 // changed lines looked for; two files that share hardly anything are not compared further

export type Diff = { text: string; added: number; removed: number }

/** Null when the two have so little in common that a diff would tell nothing. */
export function unifiedDiff(path: string, before: Uint8Array, after: Uint8Array): Diff | null {
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_EDIT_LENGTH }
  const [old, fresh] = [textOf(before), textOf(after)]
  const patch = structuredPatch(path, path, old, fresh, undefined, undefined, options)
  if (!patch) return null
  const lines = patch.hunks.flatMap(hunk => hunk.lines)
  const whole = formatPatch(patch, { includeIndex: false, includeUnderline: false, includeFileHeaders: true })
  const text = cutText(whole, MAX_DIFF_BYTES)
  return {
    text: text.length === whole.length ? text : `${text}\n[diff cut at ${sizeText(MAX_DIFF_BYTES)}]\n`,
    added: lines.filter(line => line.startsWith('+')).length,
    removed: lines.filter(line => line.startsWith('-')).length,
  }
}

const textOf = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
