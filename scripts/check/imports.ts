/** Finds what a source imports, statically, dynamically, by re-export or as a type. */
import { Visitor } from 'rolldown/utils'
import { lineAt, type Source } from './tree.ts'

export type Import = { specifier: string; line: number }

export function importsOf(source: Source): Import[] {
  const found: Import[] = []
  const add = (node: unknown): void => {
    const value = read(node, 'value')
    const start = read(node, 'start')
    if (typeof value === 'string' && typeof start === 'number') {
      found.push({ specifier: value, line: lineAt(source, start) })
    }
  }
  const addSource = (node: unknown): void => add(read(node, 'source'))
  new Visitor({
    ImportDeclaration: addSource,
    ExportNamedDeclaration: addSource,
    ExportAllDeclaration: addSource,
    ImportExpression: addSource,
    TSImportType: addSource,
  }).visit(source.program)
  return found
}

/** The package that a bare specifier names: `@scope/name/deep` gives `@scope/name`. */
export function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '')
}

function read(node: unknown, name: string): unknown {
  return typeof node === 'object' && node !== null ? Reflect.get(node, name) : undefined
}
