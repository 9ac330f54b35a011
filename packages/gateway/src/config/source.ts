/** Reads JSON5 text into a plain value and remembers where each key and value stands. Pure. */

import { messageOf, type Place } from '@beige/protocol'
import { type ParseOptions, parse, type ValueNode } from '@humanwhocodes/momoa'
import { type Position, type Problem, placeText } from './problem.ts'

export const MAX_CONFIG_BYTES = 4_194_304
const MAX_DEPTH = 64

export type Source = {
  /** Undefined where the text is no JSON5; then there is exactly one problem. */
  value: unknown
  problems: readonly Problem[]
  /** Where a place stands; for one that is not there, where its nearest ancestor does. */
  positionOf(place: Place, at: 'key' | 'value'): Position
}

const OPTIONS: ParseOptions = { mode: 'json5', ranges: true }

export function readSource(text: string): Source {
  const lines = lineStarts(text)
  const positions = new Map<string, { key: number; value: number }>()
  const problems: Problem[] = []

  const read = (node: ValueNode, place: Place, key: number): unknown => {
    const start = node.loc.start.offset
    positions.set(placeText(place), { key, value: start })
    if (place.length > MAX_DEPTH) {
      problems.push({ place, at: 'value', text: `deeper than ${MAX_DEPTH} levels` })
      return null
    }
    switch (node.type) {
      case 'Object': {
        const entries = new Map<string, unknown>()
        for (const member of node.members) {
          const name = member.name.type === 'Identifier' ? member.name.name : member.name.value
          const inner = [...place, name]
          const at = member.name.loc.start.offset
          if (entries.has(name)) {
            const first = lines.positionAt(positions.get(placeText(inner))?.key ?? 0)
            // Its own position: the first one keeps the name's.
            problems.push({
              place: [...place, name, DUPLICATE],
              at: 'key',
              text: `given twice, first in line ${first.line}`,
            })
            positions.set(placeText([...place, name, DUPLICATE]), { key: at, value: at })
          } else entries.set(name, read(member.value, inner, at))
        }
        // `fromEntries` defines, it does not assign: a key `__proto__` stays a key and is refused as unknown.
        return Object.fromEntries(entries)
      }
      case 'Array':
        return node.elements.map((element, index) => {
          const inner = [...place, index]
          return read(element.value, inner, element.value.loc.start.offset)
        })
      case 'String':
      case 'Number':
      case 'Boolean':
        return node.value
      case 'Null':
        return null
      default:
        problems.push({ place, at: 'value', text: 'must be a finite number' })
        return 0
    }
  }

  try {
    const value = read(parse(withoutMark(text), OPTIONS).body, [], 0)
    return {
      value,
      problems,
      positionOf(place, at) {
        for (let length = place.length; length >= 0; length--) {
          const found = positions.get(placeText(place.slice(0, length)))
          if (found) return lines.positionAt(length === place.length ? found[at] : found.key)
        }
        return { line: 1, column: 1 }
      },
    }
  } catch (error) {
    const offset = offsetOf(error)
    const said = messageOf(error).replace(/\s*\(\d+:\d+\)$/, '')
    const text = error instanceof RangeError ? `deeper than ${MAX_DEPTH} levels` : `not JSON5: ${said}`
    return {
      value: undefined,
      problems: [{ place: [], at: 'value', text }],
      positionOf: () => lines.positionAt(offset),
    }
  }
}

/** Last step of the place of a key that was given again. */
export const DUPLICATE = '\u0000again'

function offsetOf(error: unknown): number {
  return typeof error === 'object' && error !== null && 'offset' in error && typeof error.offset === 'number'
    ? error.offset
    : 0
}

// A byte order mark is one column in editors' counts of nothing, and one character to the parser.
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? ` ${text.slice(1)}` : text
}

function lineStarts(text: string): { positionAt(offset: number): Position } {
  const starts = [0]
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '\n' || char === '\u2028' || char === '\u2029' || (char === '\r' && text[i + 1] !== '\n'))
      starts.push(i + 1)
  }
  return {
    positionAt(offset) {
      let low = 0
      let high = starts.length - 1
      while (low < high) {
        const middle = Math.ceil((low + high) / 2)
        if ((starts[middle] ?? 0) <= offset) low = middle
        else high = middle - 1
      }
      return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
    },
  }
}
