/** Finds what a source imports, statically, dynamically, by re-export or as a type. */
import { Visitor } from 'rolldown/utils'
import { lineAt, type Source } from './tree.ts'

/** `isType`: erased before it runs. `import { type A }` is not: it still loads the module. */
export type Import = { specifier: string; line: number; isType: boolean }

export function importsOf(source: Source): Import[] {
  const found: Import[] = []
  const addSource = (node: { type: string; start: number }): void => {
    const specifier = read(read(node, 'source'), 'value')
    if (typeof specifier !== 'string') return
    const kind = read(node, 'importKind') ?? read(node, 'exportKind')
    found.push({
      specifier,
      line: lineAt(source, node.start),
      isType: kind === 'type' || node.type === 'TSImportType',
    })
  }
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
