/**
 * Globs as ripgrep reads them: `?`, `*`, `**`, `[a-z]`, `{a,b}`, `\x`; only `**` goes over a `/`. They work on bytes and
 * take a time that grows with the name alone: an ignore file is the workspace's, and must not hold up its reader. Pure.
 */
import type { ByteText } from './byte-text.ts'

export type Glob = (name: ByteText) => boolean

const MAX_STATES = 4096 // of one glob
const SLASH = 0x2f

type Eats = Uint8Array // 1 for each byte that it takes
type Part =
  | { kind: 'one'; eats: Eats }
  | { kind: 'any'; eats: Eats }
  | { kind: 'prefix' | 'suffix' | 'between' } // `**/`, `/**`, `/**/`
  | { kind: 'either'; branches: Part[][] }

/** Null where it is no glob: a class or braces that do not end, a backslash with nothing behind it. */
export function compileGlob(glob: ByteText): Glob | null {
  const plain = plainGlob(glob)
  if (plain) return plain
  const parts = parse(glob)
  if (parts?.length === 1 && parts[0]?.kind === 'prefix') return () => true // `**` alone
  return parts && automaton(parts)
}

/** Most globs are a name or an ending in any directory. */
function plainGlob(glob: string): Glob | null {
  if (!glob.startsWith('**/')) return null
  const name = glob.slice(3)
  if (!/[*?[\]{}\\/]/.test(name)) return path => path === name || path.endsWith(`/${name}`)
  const ending = name.slice(1)
  if (name.startsWith('*') && !/[*?[\]{}\\/]/.test(ending)) return path => path.endsWith(ending)
  return null
}

const eatsOnly = (byte: number): Eats => new Uint8Array(256).map((_, at) => Number(at === byte))
const ALL: Eats = new Uint8Array(256).fill(1)
const NO_SLASH: Eats = ALL.map((_, byte) => Number(byte !== SLASH))

function parse(glob: string): Part[] | null {
  const open: Part[][][] = [] // branches of the braces that are open
  let parts: Part[] = []
  let at = 0

  const stars = (): Part[] => [
    { kind: 'any', eats: NO_SLASH },
    { kind: 'any', eats: NO_SLASH },
  ]
  /** Behind `**`, whose stars stand at `at - 2` and `at - 1`. */
  const doubleStar = () => {
    const before = glob[at - 3]
    const after = glob[at]
    if (parts.length === 0) {
      if (after !== undefined && after !== '/') return void parts.push(...stars())
      parts.push({ kind: 'prefix' })
      at++
      return
    }
    const isInside = after === '/'
    const isEnd = after === undefined || (open.length > 0 && (after === ',' || after === '}'))
    if (before !== '/' || !(isInside || isEnd)) return void parts.push(...stars())
    if (isInside) at++
    const last = parts.pop()
    if (last?.kind === 'prefix' || last?.kind === 'suffix') parts.push(last)
    else parts.push({ kind: isInside ? 'between' : 'suffix' })
  }

  while (at < glob.length) {
    const char = glob[at++]
    if (char === '?') parts.push({ kind: 'one', eats: NO_SLASH })
    else if (char === '*') {
      if (glob[at] !== '*') parts.push({ kind: 'any', eats: NO_SLASH })
      else {
        at++
        doubleStar()
      }
    } else if (char === '[') {
      const found = parseClass(glob, at)
      if (!found) return null
      parts.push({ kind: 'one', eats: found.eats })
      at = found.next
    } else if (char === '{') {
      open.push([parts])
      parts = []
    } else if (char === ',' && open.length > 0) {
      open.at(-1)?.push(parts)
      parts = []
    } else if (char === '}') {
      const [outer, ...branches] = open.pop() ?? []
      if (!outer) return null
      const filled = [...branches, parts].filter(branch => branch.length > 0)
      parts = outer
      if (filled.length > 0) parts.push({ kind: 'either', branches: filled })
    } else {
      const code = char === '\\' ? glob.charCodeAt(at++) : glob.charCodeAt(at - 1)
      if (Number.isNaN(code)) return null
      parts.push({ kind: 'one', eats: eatsOnly(code) })
    }
  }
  return open.length === 0 ? parts : null
}

/** `at` is behind the bracket. In a class a backslash is a backslash. */
function parseClass(glob: string, at: number): { eats: Eats; next: number } | null {
  const isNegated = glob[at] === '!' || glob[at] === '^'
  const start = isNegated ? at + 1 : at
  const end = glob.indexOf(']', start + 1)
  if (end < 0) return null
  const eats = new Uint8Array(256)
  for (let byte = start; byte < end; ) {
    const first = glob.charCodeAt(byte)
    const isRange = glob[byte + 1] === '-' && byte + 2 < end
    const last = isRange ? glob.charCodeAt(byte + 2) : first
    if (last < first) return null
    eats.fill(1, first, last + 1)
    byte += isRange ? 3 : 1
  }
  return { eats: isNegated ? eats.map(eaten => 1 - eaten) : eats, next: end + 1 }
}

type State = { eats: Eats; next: number } | { nexts: number[] } | 'end'

/** States are built from the last part to the first; a path is followed in all of them at once. */
function automaton(parts: readonly Part[]): Glob | null {
  const states: State[] = ['end']
  const add = (state: State): number => states.push(state) - 1
  const loop = (eats: Eats, next: number): number => {
    const nexts: number[] = [next]
    const fork = add({ nexts })
    nexts.push(add({ eats, next: fork }))
    return fork
  }
  const slash = (next: number) => add({ eats: eatsOnly(SLASH), next })
  const build = (list: readonly Part[], end: number): number => list.reduceRight(buildPart, end)
  function buildPart(next: number, part: Part): number {
    if (states.length > MAX_STATES) return next
    switch (part.kind) {
      case 'one':
        return add({ eats: part.eats, next })
      case 'any':
        return loop(part.eats, next)
      case 'prefix':
        return add({ nexts: [next, slash(next), loop(ALL, slash(next))] })
      case 'suffix':
        return slash(loop(ALL, next))
      case 'between':
        return add({ nexts: [slash(next), slash(loop(ALL, slash(next)))] })
      case 'either':
        return add({ nexts: part.branches.map(branch => build(branch, next)) })
    }
  }
  const start = build(parts, 0)
  if (states.length > MAX_STATES) return null

  const reach = (from: number, into: Set<number>) => {
    const state = states[from]
    if (state === undefined || into.has(from)) return
    into.add(from)
    if (state !== 'end' && 'nexts' in state) for (const next of state.nexts) reach(next, into)
  }
  const first = new Set<number>()
  reach(start, first)
  return path => {
    let current = first
    for (let at = 0; at < path.length && current.size > 0; at++) {
      const byte = path.charCodeAt(at)
      const after = new Set<number>()
      for (const id of current) {
        const state = states[id]
        if (typeof state === 'object' && 'eats' in state && state.eats[byte]) reach(state.next, after)
      }
      current = after
    }
    return current.has(0)
  }
}
