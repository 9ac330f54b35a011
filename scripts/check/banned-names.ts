/** Fails on file and folder names that say nothing, on names not in kebab-case and on default exports. */
import { Visitor } from 'rolldown/utils'
import { lineAt, type Problem, type Source, type Tree } from './tree.ts'

const EMPTY_NAMES = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'types'])
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*$/
// A hazard's test begins with its id; the rest of the name is kebab-case as everywhere.
const HAZARD_ID = /^H\d{2,3}-/

export function checkBannedNames(tree: Tree): Problem[] {
  const isSource = (path: string): boolean => path.endsWith('.ts') || path.endsWith('.rs')
  return [
    ...[...tree.files.keys()].filter(isSource).flatMap(nameProblems),
    ...tree.sources.flatMap(defaultExports),
  ]
}

function nameProblems(path: string): Problem[] {
  const parts = path.replace(/(\.engine)?(\.test|\.fixture)?\.(d\.)?(ts|rs)$/, '').split('/')
  const problems: Problem[] = []
  for (const part of parts) {
    const empty = part.split(/[-_]/).find(word => EMPTY_NAMES.has(word))
    if (empty !== undefined) problems.push({ path, says: `"${empty}" names nothing: say what is in it` })
  }
  const name = (parts.at(-1) ?? '').replace(HAZARD_ID, '')
  // Rust's module names are snake_case.
  const cased = path.endsWith('.rs') ? name.replaceAll('_', '-') : name
  if (!KEBAB_CASE.test(cased)) problems.push({ path, says: `${name} is not in kebab-case` })
  return problems
}

function defaultExports(source: Source): Problem[] {
  const problems: Problem[] = []
  new Visitor({
    ExportDefaultDeclaration(node) {
      problems.push({
        path: source.path,
        line: lineAt(source, node.start),
        says: 'default export: export a name',
      })
    },
  }).visit(source.program)
  return problems
}
