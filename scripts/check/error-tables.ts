/** Fails on an error table that is not in errors.ts or not complete, and on a bare `throw new Error` in a package. */
import { basename } from 'node:path'
import { type ESTree, Visitor } from 'rolldown/utils'
import { lineAt, type Problem, type Source, type Tree } from './tree.ts'

const TABLE_TYPE = 'ErrorTable'
const FIELDS = ['says', 'retryable', 'advice']

export function checkErrorTables(tree: Tree): Problem[] {
  return tree.sources.filter(source => source.workspace !== 'scripts' && !source.isTest).flatMap(problemsOf)
}

function problemsOf(source: Source): Problem[] {
  const problems: Problem[] = []
  const report = (offset: number, says: string): void => {
    problems.push({ path: source.path, line: lineAt(source, offset), says })
  }
  new Visitor({
    TSSatisfiesExpression(node) {
      if (!isTableType(node.typeAnnotation)) return
      if (!mayHoldTable(source)) report(node.start, 'an error table belongs into errors.ts')
      const table = node.expression.type === 'TSAsExpression' ? node.expression.expression : node.expression
      if (table.type === 'ObjectExpression') checkTable(table, report)
    },
    ThrowStatement(node) {
      const isBare = node.argument.type === 'NewExpression' && isNamed(node.argument.callee, 'Error')
      const isPackage = source.workspace.startsWith('packages/')
      if (isBare && isPackage)
        report(node.start, "throw new Error: throw fail(code, …) of the package's errors.ts")
    },
  }).visit(source.program)
  return problems
}

function checkTable(table: ESTree.ObjectExpression, report: (offset: number, says: string) => void): void {
  for (const entry of table.properties) {
    if (entry.type !== 'Property' || entry.value.type !== 'ObjectExpression') continue
    const code = nameOf(entry)
    const given = new Map(
      entry.value.properties.flatMap(part => (part.type === 'Property' ? [[nameOf(part), part]] : [])),
    )
    for (const name of FIELDS) {
      const part = given.get(name)
      if (part === undefined) report(entry.start, `${code} has no ${name}`)
      else if (isEmptyText(part.value)) report(part.start, `${code}: ${name} is empty`)
    }
  }
}

// protocol has no codes of its own: a table there belongs to the one wire shape of its file.
function mayHoldTable(source: Source): boolean {
  return basename(source.path) === 'errors.ts' || source.workspace === 'packages/protocol'
}

function isTableType(type: ESTree.TSType): boolean {
  return (
    type.type === 'TSTypeReference' &&
    type.typeName.type === 'Identifier' &&
    type.typeName.name === TABLE_TYPE
  )
}

function nameOf(property: ESTree.ObjectProperty): string {
  if (property.key.type === 'Identifier') return property.key.name
  return property.key.type === 'Literal' ? String(property.key.value) : '?'
}

function isEmptyText(value: ESTree.ObjectProperty['value']): boolean {
  return value.type === 'Literal' && typeof value.value === 'string' && value.value.trim() === ''
}

function isNamed(node: ESTree.Expression, name: string): boolean {
  return node.type === 'Identifier' && node.name === name
}
