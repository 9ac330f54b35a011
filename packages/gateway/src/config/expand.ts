/** Puts environment values into the strings of a document: `${NAME}`, `${NAME:-text}`, `$${` for a literal `${`. Pure. */
import { type Place, SECRET_FORMAT, schemasAt } from '@beige/protocol'
import type { Problem } from './problem.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type Expanded = {
  value: unknown
  problems: readonly Problem[]
  /** Variables whose value stands in a secret; they leave the process's environment after the load. */
  secretVariables: ReadonlySet<string>
}

export function expandDocument(document: unknown, schema: unknown, env: Environment): Expanded {
  const problems: Problem[] = []
  const secretVariables = new Set<string>()

  const walk = (value: unknown, place: Place): unknown => {
    if (typeof value === 'string') return expandAt(value, place)
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...place, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, walk(inner, [...place, key])]),
    )
  }

  const expandAt = (text: string, place: Place): unknown => {
    const kinds = schemasAt(schema, place)
    const isSecret = kinds.some(kind => kind.format === SECRET_FORMAT)
    const expanded = expandText(text, env)
    for (const problem of expanded.problems) problems.push({ place, at: 'value', text: problem })
    if (expanded.problems.length > 0) return isSecret ? UNKNOWN : expanded.text
    if (isSecret) {
      for (const name of expanded.variables) secretVariables.add(name)
      if (expanded.text === '') {
        const what =
          expanded.variables[0] === undefined ? 'is empty' : `\${${expanded.variables[0]}} is empty`
        problems.push({ place, at: 'value', text: what })
      }
    }
    return expanded.isOneExpression ? converted(expanded.text, kinds) : expanded.text
  }

  return { value: walk(document, []), problems, secretVariables }
}

/** Stands for a secret that could not be read, so that later checks do not report it a second time. */
const UNKNOWN = '\u0000unknown'

export type ExpandedText = {
  text: string
  problems: readonly string[]
  variables: readonly string[]
  /** The whole string is one `${…}`: number and boolean keys take it. */
  isOneExpression: boolean
}

export function expandText(text: string, env: Environment): ExpandedText {
  const problems: string[] = []
  const variables: string[] = []
  let out = ''
  let at = 0
  let isOneExpression = false
  for (;;) {
    const dollar = text.indexOf('$', at)
    if (dollar < 0) break
    out += text.slice(at, dollar)
    if (text.startsWith('$${', dollar)) {
      out += '${'
      at = dollar + 3
    } else if (text.startsWith('${', dollar)) {
      const expression = readExpression(text, dollar + 2)
      if (expression === null) {
        problems.push('"${" begins no ${NAME} or ${NAME:-text}; write "$${" for the characters themselves')
        return { text: out + text.slice(dollar), problems, variables, isOneExpression: false }
      }
      const { name, fallback, end } = expression
      const value = env[name]
      variables.push(name)
      if (value === undefined && fallback === null) problems.push(`\${${name}} is not set`)
      // An environment value goes in as it is; it is never looked at for expressions again.
      out += value === undefined || (value === '' && fallback !== null) ? (fallback ?? '') : value
      isOneExpression = dollar === 0 && end === text.length
      at = end
    } else {
      out += '$'
      at = dollar + 1
    }
  }
  return { text: out + text.slice(at), problems, variables, isOneExpression }
}

function readExpression(
  text: string,
  start: number,
): { name: string; fallback: string | null; end: number } | null {
  const name = /^[A-Za-z_][A-Za-z0-9_]*/.exec(text.slice(start))?.[0]
  if (name === undefined) return null
  let at = start + name.length
  if (text[at] === '}') return { name, fallback: null, end: at + 1 }
  if (!text.startsWith(':-', at)) return null
  at += 2
  let fallback = ''
  for (; at < text.length; at++) {
    const char = text[at]
    if (char === '}') return { name, fallback, end: at + 1 }
    const next = text[at + 1]
    if (char === '\\' && (next === '}' || next === '\\')) {
      fallback += next
      at++
    } else fallback += char
  }
  return null
}

function converted(text: string, kinds: readonly Record<string, unknown>[]): unknown {
  const types = kinds.map(kind => kind.type)
  if (types.includes('string')) return text
  if ((types.includes('integer') || types.includes('number')) && text.trim() !== '') {
    const number = Number(text)
    if (Number.isFinite(number)) return number
  }
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
