/** Fails on files that load each other in a circle, within a package or across packages; types alone load nothing. */
import { posix } from 'node:path'
import { importsOf, packageOf } from './imports.ts'
import type { Problem, Tree } from './tree.ts'

export function checkImportCycles(tree: Tree): Problem[] {
  const sources = tree.sources.filter(source => !source.isTest)
  const entries = new Map(tree.manifests.map(({ name, workspace }) => [name, `${workspace}/src/index.ts`]))
  const targets = new Map<string, string[]>()
  for (const source of sources) {
    const folder = posix.dirname(source.path)
    const found = importsOf(source)
      .filter(({ isType }) => !isType)
      .map(({ specifier }) =>
        specifier.startsWith('.') ? posix.join(folder, specifier) : (entries.get(packageOf(specifier)) ?? ''),
      )
    targets.set(source.path, found)
  }
  return findCycles(targets).map(cycle => ({
    path: cycle[0] ?? '',
    says: `import cycle: ${[...cycle, cycle[0]].join(' → ')}`,
  }))
}

/** One cycle for every edge that closes one, found depth first. */
function findCycles(targets: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) {
      cycles.push(trail.slice(start))
      return
    }
    if (done.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return cycles
}
