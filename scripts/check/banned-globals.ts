/**
 * Fails where a package that the simulator runs reaches for the clock, randomness, files, the net or the environment
 * itself: they are handed in, and only the implementations in outside-files.ts and main.ts touch them.
 */
import { basename } from 'node:path'
import { type ESTree, Visitor } from 'rolldown/utils'
import { importsOf } from './imports.ts'
import { OUTSIDE_FILES } from './outside-files.ts'
import { lineAt, type Problem, type Source, type Tree } from './tree.ts'

const SIMULATED = ['packages/sessions', 'packages/host', 'packages/harness', 'packages/models']
const BANNED_MEMBERS = new Set([
  'Date.now',
  'performance.now',
  'Math.random',
  'globalThis.fetch',
  'process.env',
])
const BANNED_MODULES = new Set(['node:fs', 'node:fs/promises', 'fs', 'fs/promises'])

export function checkBannedGlobals(tree: Tree, allowed: readonly string[] = OUTSIDE_FILES): Problem[] {
  const stale = allowed
    .filter(path => !tree.files.has(path))
    .map(path => ({ path: 'scripts/check/outside-files.ts', says: `${path} does not exist` }))
  const watched = tree.sources.filter(
    source =>
      SIMULATED.includes(source.workspace) &&
      !source.isTest &&
      basename(source.path) !== 'main.ts' &&
      !allowed.includes(source.path),
  )
  return [...stale, ...watched.flatMap(usesOf)]
}

function usesOf(source: Source): Problem[] {
  const problems: Problem[] = []
  const report = (name: string, line: number): void => {
    problems.push({
      path: source.path,
      line,
      says: `${name}: it is handed in (scripts/check/outside-files.ts)`,
    })
  }
  for (const { specifier, line } of importsOf(source)) {
    if (BANNED_MODULES.has(specifier)) report(specifier, line)
  }
  new Visitor({
    MemberExpression(node) {
      const name = memberName(node)
      if (BANNED_MEMBERS.has(name)) report(name, lineAt(source, node.start))
    },
    CallExpression(node) {
      if (isNamed(node.callee, 'fetch')) report('fetch', lineAt(source, node.start))
    },
    NewExpression(node) {
      if (isNamed(node.callee, 'Date') && node.arguments.length === 0)
        report('new Date()', lineAt(source, node.start))
    },
  }).visit(source.program)
  return problems
}

function memberName(node: ESTree.MemberExpression): string {
  const object = node.object.type === 'Identifier' ? node.object.name : ''
  if (node.property.type === 'Identifier') return `${object}.${node.property.name}`
  return node.property.type === 'Literal' ? `${object}.${String(node.property.value)}` : ''
}

function isNamed(node: ESTree.Expression, name: string): boolean {
  return node.type === 'Identifier' && node.name === name
}
