/** The parts of a page: text, images, tool calls, diffs, notes. Each gives HTML in which all text is escaped. */
import { factsOf, oneLine, subjectOf } from '@beige/client'
import { unifiedDiff } from '@beige/harness'
import type { ContentBlock, ToolFinishedBody } from '@beige/protocol'
import { element, escaped } from './escape.ts'

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const MAX_SUBJECT = 400

export type Call = { name: string; input: unknown; isStarted: boolean; finished: ToolFinishedBody | null }

/** Fenced code stands out; all else is shown as it was written. */
export function textHtml(text: string): string {
  if (text.trim() === '') return ''
  const parts = text.split(/^```[^\n]*\n([\s\S]*?)^```[^\S\n]*$\n?/m)
  const html = parts.map((part, index) => {
    if (index % 2 === 1) return element('pre', {}, escaped(part.replace(/\n$/, '')))
    const plain = part
      .replace(index > 0 ? /^\n+/ : '', '')
      .replace(index < parts.length - 1 ? /\n+$/ : '', '')
    return escaped(plain).replace(/`([^`\n]+)`/g, '<code>$1</code>')
  })
  return element('div', { class: 'text' }, ...html)
}

export function blocksHtml(blocks: readonly ContentBlock[]): string {
  return blocks
    .map(block => {
      switch (block.type) {
        case 'text':
          return textHtml(block.text)
        case 'image':
          return imageHtml(block)
        case 'thinking':
          return thinkingHtml(block.redacted === true ? '' : block.text)
        case 'tool_call':
          return ''
        default:
          return block satisfies never
      }
    })
    .join('')
}

function thinkingHtml(text: string): string {
  const shown = text.trim() === '' ? '(not shown by the provider)' : text
  return folding('thinking', 'Thinking', element('div', { class: 'in text' }, escaped(shown)))
}

export function imageHtml({ media_type, data }: { media_type: string; data: string }): string {
  if (!IMAGE_TYPES.has(media_type) || !BASE64.test(data)) return noteHtml(`image of type ${media_type}`)
  return `<img alt="image" src="data:${media_type};base64,${data}">`
}

export function noteHtml(text: string, isBad = false): string {
  return element('p', { class: isBad ? 'note bad' : 'note' }, escaped(text))
}

/** `summary` is text, `inner` HTML. */
export function folding(kind: string, summary: string, inner: string): string {
  return element('details', { class: kind }, element('summary', {}, escaped(summary)), inner)
}

export function callHtml(call: Call): string {
  const { name, input, finished } = call
  const head = element(
    'summary',
    {},
    element('span', { class: 'name' }, escaped(name)),
    element('span', { class: 'subject' }, escaped(subjectOf(input).slice(0, MAX_SUBJECT))),
    element('span', { class: 'facts' }, escaped(factsText(call))),
  )
  const isGood = finished !== null && !finished.is_error && finished.outcome === 'done'
  return element(
    'details',
    { class: isGood ? 'call' : 'call failed' },
    head,
    inputHtml(call),
    ...(finished ? [resultHtml(finished)] : []),
  )
}

function resultHtml({ content }: ToolFinishedBody): string {
  const parts = content.map(block =>
    block.type === 'image' ? imageHtml(block) : element('pre', {}, escaped(block.text)),
  )
  return element('div', { class: 'part' }, ...parts)
}

function factsText({ finished, isStarted }: Call): string {
  if (!finished) return isStarted ? 'no result' : 'did not start'
  const outputBytes = finished.content.reduce(
    (sum, block) => sum + (block.type === 'text' ? Buffer.byteLength(block.text) : block.data.length),
    0,
  )
  const { is_error: isError, outcome, details = {} } = finished
  return oneLine(factsOf(details, { ms: null, isError, outcome, outputBytes }), 80)
}

/** A change of a file is shown as its diff: of what really happened where that is known, else of what was asked. */
function inputHtml({ input, finished }: Call): string {
  const done = fieldOf(finished?.details, 'diff')
  const diffs = typeof done === 'string' ? [done] : askedDiffs(input)
  if (diffs.length > 0) return element('div', { class: 'part' }, ...diffs.map(diffHtml))
  return element('pre', { class: 'part' }, escaped(inputText(input)))
}

function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  const command = fieldOf(input, 'command')
  const isAlone = typeof command === 'string' && Object.keys(Object(input)).length === 1
  return isAlone ? `$ ${command}` : (JSON.stringify(input, null, 2) ?? '')
}

/** Of `edit` and `patch`, one or several in a call, and of `write`, which replaces all there was. */
function askedDiffs(input: unknown): string[] {
  const path = fieldOf(input, 'path')
  if (typeof path !== 'string') return []
  const content = fieldOf(input, 'content')
  if (typeof content === 'string') return diffOf(path, '', content)
  const edits = fieldOf(input, 'edits')
  const all = Array.isArray(edits) && edits.length > 0 ? edits : [input]
  return all.flatMap((edit: unknown) => {
    const before = fieldOf(edit, 'old_string') ?? fieldOf(edit, 'oldText')
    const after = fieldOf(edit, 'new_string') ?? fieldOf(edit, 'newText')
    return typeof before === 'string' && typeof after === 'string' ? diffOf(path, before, after) : []
  })
}

function diffOf(path: string, before: string, after: string): string[] {
  const diff = unifiedDiff(path, Buffer.from(before), Buffer.from(after))
  return diff && diff.text !== '' ? [diff.text] : []
}

function diffHtml(diff: string): string {
  const lines = diff.replace(/\n$/, '').split('\n')
  return element(
    'pre',
    { class: 'diff' },
    ...lines.map(line => element('span', { class: kindOf(line) }, escaped(line))),
  )
}

function kindOf(line: string): string | undefined {
  if (/^(---|\+\+\+|@@)/.test(line)) return 'at'
  return line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : undefined
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value ? Reflect.get(value, name) : undefined
}
