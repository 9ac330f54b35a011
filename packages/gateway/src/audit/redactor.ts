/**
 * Takes secrets out of text before it is written anywhere: known values in the five forms in which they usually travel,
 * and text that has the shape of a key. Linear in its input. Pure.
 */
import type { KnownSecret } from '../config/resolved.ts'

export type Redactor = (text: string) => string

const MIN_SECRET_CHARS = 4 // shorter ones would tear ordinary text apart

// Each is a literal prefix and one bounded run of one class: no backtracking to speak of.
const SHAPES: readonly [kind: string, pattern: RegExp][] = [
  ['api-key', /\bsk-[A-Za-z0-9_-]{16,256}/g],
  ['github-token', /\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})/g],
  ['slack-token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,255}/g],
  ['aws-key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
  ['google-key', /\bAIza[A-Za-z0-9_-]{35}/g],
  ['beige-token', /\b(?:bgt|bgx)_v1\.[A-Za-z0-9_.-]{16,512}/g],
  ['virtual-key', /\bbai_v1\.[0-9a-f]{16}\.[A-Za-z0-9_.-]{16,16512}/g],
  ['private-key', /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[A-Za-z0-9+/=\s]{0,16384}/g],
]

export function createRedactor(secrets: readonly KnownSecret[]): Redactor {
  const forms = new Map<string, string>()
  for (const { name, value } of secrets) {
    if (value.length < MIN_SECRET_CHARS) continue
    for (const form of formsOf(value)) if (!forms.has(form)) forms.set(form, name)
  }
  const longestFirst = [...forms.keys()].sort((a, b) => b.length - a.length)
  const known =
    longestFirst.length === 0 ? null : new RegExp(longestFirst.map(form => escaped(form)).join('|'), 'g')

  return text => {
    let out = known === null ? text : text.replace(known, form => `[secret:${forms.get(form)}]`)
    for (const [kind, pattern] of SHAPES) out = out.replace(pattern, `[redacted:${kind}]`)
    return out
  }
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const base64 = bytes.toString('base64')
  return [
    value,
    base64,
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    encodeURIComponent(value),
    bytes.toString('hex'),
    JSON.stringify(value).slice(1, -1),
  ]
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
