/**
 * A pattern of ripgrep as POSIX `grep -E` takes it, for sandboxes without `rg`. What means the same in both is written down
 * here; all else is refused by name, since a pattern that means something else finds something else. Pure.
 */
import { isError } from '@beige/protocol'
import { fail } from '../../errors.ts'

export type PosixPattern =
  | { ok: true; pattern: string; ignoreCase: boolean }
  | { ok: false; isWrong: boolean; reason: string } // `isWrong`: for ripgrep too

const MAX_REPEATS = 255 // RE_DUP_MAX of POSIX
const MAX_DEPTH = 100

const SHORT: Readonly<Record<string, string>> = { d: '0-9', s: '[:space:]', w: '_[:alnum:]' }
const NAMED: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  digit: '0-9',
  lower: 'a-z',
  upper: 'A-Z',
  xdigit: '0-9A-Fa-f',
  word: '0-9A-Z_a-z',
}
const CONTROL: Readonly<Record<string, string>> = { t: '\t', r: '\r', f: '\f', v: '\v', a: '\x07' }
const PUNCTUATION = /^[!-/:-@[-`{-~ ]$/
const ANCHORS: Readonly<Record<string, string>> = { b: '\\b', B: '\\B', A: '^', z: '$' }

const wrong = (reason: string) => fail('not_posix', { reason, isWrong: true })
const unlike = (what: string) =>
  fail('not_posix', { reason: `${what} has no equal in POSIX grep`, isWrong: false })

export function posixPattern(pattern: string): PosixPattern {
  const ignoreCase = pattern.startsWith('(?i)')
  try {
    return { ok: true, pattern: translated(Array.from(ignoreCase ? pattern.slice(4) : pattern)), ignoreCase }
  } catch (error) {
    if (!isError(error, 'not_posix')) throw error
    return { ok: false, isWrong: error.data.isWrong === true, reason: String(error.data.reason) }
  }
}

/** `repeats`: whether a quantifier may follow. */
type Piece = { text: string; repeats: boolean }

function translated(chars: readonly string[]): string {
  let at = 0

  function alternation(depth: number): string {
    if (depth > MAX_DEPTH) throw unlike('a pattern nested so deeply')
    let text = ''
    for (;;) {
      const char = chars[at]
      if (char === undefined || char === ')') return text
      if (char === '|') {
        at++
        text += '|'
      } else text += repeated(piece(depth))
    }
  }

  function repeated({ text, repeats }: Piece): string {
    let whole = text
    for (let count = 0; ; count++) {
      const quantifier = nextQuantifier()
      if (quantifier === null) return whole
      if (!repeats) throw unlike(`${quantifier} behind an anchor`)
      whole = count === 0 ? whole + quantifier : `(${whole})${quantifier}`
    }
  }

  /** Greedy or not makes no difference to whether a line matches. */
  function nextQuantifier(): string | null {
    const char = chars[at]
    let quantifier = char ?? ''
    if (char === '{') quantifier = counted()
    else if (char !== '*' && char !== '+' && char !== '?') return null
    else at++
    if (chars[at] === '?') at++
    return quantifier
  }

  function counted(): string {
    const end = chars.indexOf('}', at)
    const text = end < 0 ? '' : chars.slice(at, end + 1).join('')
    const match = /^\{\s*(\d+)\s*(?:(,)\s*(\d*)\s*)?\}$/.exec(text)
    if (!match) throw wrong('{ is not followed by a number of repetitions; a literal { is \\{')
    const [, from = '', comma = '', to = ''] = match
    if (to !== '' && Number(to) < Number(from)) throw wrong(`${text} counts down`)
    if (Number(from) > MAX_REPEATS || Number(to) > MAX_REPEATS) throw unlike(text)
    at = end + 1
    return `{${Number(from)}${comma}${to === '' ? '' : Number(to)}}`
  }

  function piece(depth: number): Piece {
    const char = chars[at++] ?? ''
    switch (char) {
      case '(':
        return group(depth)
      case '[':
        return { text: bracket(), repeats: true }
      case '\\':
        return escaped()
      case '^':
      case '$':
        return { text: char, repeats: false }
      case '.':
        return { text: '.', repeats: true }
      case '*':
      case '+':
      case '?':
      case '{':
        throw wrong(`nothing to repeat before ${char}`)
      default:
        return literal(char)
    }
  }

  function group(depth: number): Piece {
    if (chars[at] === '?') {
      const head = /^\?(:|P?<[A-Za-z_][A-Za-z0-9_]*>)/.exec(chars.slice(at, at + 200).join(''))?.[0]
      if (head === undefined) throw unlike(`(${chars.slice(at, at + 2).join('')}`)
      at += head.length
    }
    const inner = alternation(depth + 1)
    if (chars[at++] !== ')') throw wrong('unclosed group')
    return { text: `(${inner})`, repeats: true }
  }

  function escaped(): Piece {
    const char = chars[at++]
    if (char === undefined) throw wrong('a backslash with nothing behind it')
    const short = SHORT[char.toLowerCase()]
    if (short !== undefined) {
      return { text: char === char.toLowerCase() ? `[${short}]` : `[^${short}]`, repeats: true }
    }
    const anchor = ANCHORS[char]
    if (anchor !== undefined) return { text: anchor, repeats: false }
    return literal(escapedChar(char))
  }

  /** The character that an escape stands for; `char` is behind the backslash. */
  function escapedChar(char: string): string {
    const control = CONTROL[char]
    if (control !== undefined) return control
    if (PUNCTUATION.test(char) && char !== '<' && char !== '>') return char
    if (char === 'n') throw wrong('the literal "\\n" is not allowed: lines are searched one by one')
    const hex = /^(?:x([0-9A-Fa-f]{2})|[xuU]\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4}))/.exec(
      `${char}${chars.slice(at, at + 10).join('')}`,
    )
    const code = Number.parseInt(hex?.[1] ?? hex?.[2] ?? hex?.[3] ?? '', 16)
    if (!hex || !(code > 0 && code !== 10 && code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff)) {
      throw unlike(`\\${char}`)
    }
    at += hex[0].length - 1
    return String.fromCodePoint(code)
  }

  function bracket(): string {
    const isNegated = chars[at] === '^'
    if (isNegated) at++
    const found: ClassItems = { isFirstBracket: false, others: '', ranges: '' }
    for (let isFirst = true; ; isFirst = false) {
      const char = chars[at]
      if (char === undefined) throw wrong('unclosed character class')
      if (char === ']' && !isFirst) break
      const next = chars[at + 1]
      if ((char === '&' || char === '-' || char === '~') && next === char && !isFirst)
        throw unlike(char + char)
      const set = classItem(char)
      if (set !== null) {
        found.ranges += set
        continue
      }
      const from = classChar()
      if (chars[at] !== '-' || chars[at + 1] === ']' || chars[at + 1] === undefined) {
        addChar(found, from)
        continue
      }
      at++
      if (chars[at] === '-' || chars[at] === '[') throw unlike('such a range')
      const to = classChar()
      if ((from.codePointAt(0) ?? 0) > (to.codePointAt(0) ?? 0))
        throw wrong(`the range ${from}-${to} goes down`)
      if (/[\]\\^[-]/.test(from + to)) throw unlike(`the range ${from}-${to}`)
      found.ranges += `${from}-${to}`
    }
    at++
    return bracketOf(found, isNegated)
  }

  /** `\d` or `[:alpha:]`; null where a character is. */
  function classItem(char: string): string | null {
    if (char === '\\') {
      const name = chars[at + 1] ?? ''
      const short = SHORT[name.toLowerCase()]
      if (short === undefined) return null
      if (name !== name.toLowerCase()) throw unlike(`\\${name} in a class`)
      at += 2
      return short
    }
    if (char !== '[') return null
    const name = /^\[:([a-z]+):\]/.exec(chars.slice(at, at + 12).join(''))?.[1]
    const set = name === undefined ? undefined : NAMED[name]
    if (name === undefined || set === undefined) throw unlike('a class in a class')
    at += name.length + 4
    return set
  }

  function classChar(): string {
    const char = chars[at++] ?? ''
    if (char !== '\\') return char
    const next = chars[at++]
    if (next === undefined) throw wrong('a backslash with nothing behind it')
    return escapedChar(next)
  }

  const text = alternation(0)
  if (at < chars.length) throw wrong('unopened group')
  return text
}

type ClassItems = { isFirstBracket: boolean; others: string; ranges: string }

function addChar(items: ClassItems, char: string): void {
  if (char === ']') items.isFirstBracket = true
  else items.others += char
}

/** In POSIX nothing is escaped in brackets; the place says what `]`, `^` and `-` mean. */
function bracketOf({ isFirstBracket, others, ranges }: ClassItems, isNegated: boolean): string {
  const plain = others.replace(/[-^[]/g, '')
  const [caret, open, dash] = ['^', '[', '-'].map(char => (others.includes(char) ? char : ''))
  const body = `${isFirstBracket ? ']' : ''}${ranges}${plain}${open}`
  if (isNegated) return `[^${body}${caret}${dash}]`
  if (body === '' && caret === '^') return dash === '-' ? '[-^]' : '\\^'
  return `[${body}${caret}${dash}]`
}

function literal(char: string): Piece {
  const special = '\\.*+?()[{|^$'.includes(char)
  return { text: special ? (char === '\\' || char === '^' ? `\\${char}` : `[${char}]`) : char, repeats: true }
}
