/** Fails on an import or a dependency that no arrow allows, on a deep import and on an undeclared package. */
import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { arrowsOf, GUARDED_PACKAGES, shortNameOf } from './arrows.ts'
import { importsOf, packageOf } from './imports.ts'
import type { Manifest, Problem, Source, Tree } from './tree.ts'

const TEST_SUPPORT = 'test-support'
const EXACT_VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/

export function checkImportArrows(tree: Tree): Problem[] {
  return [
    ...tree.manifests.flatMap(manifest => manifestProblems(tree, manifest)),
    ...tree.sources.flatMap(source => sourceProblems(tree, source)),
  ]
}

function manifestProblems(tree: Tree, manifest: Manifest): Problem[] {
  const { path, workspace } = manifest
  const says: string[] = []
  if (arrowsOf(workspace) === undefined)
    says.push(`no arrows are known for ${workspace}: add it to arrows.ts`)
  for (const entry of manifest.exports) {
    if (entry !== '.') says.push(`exports ${entry}: only src/index.ts is importable`)
  }
  for (const isTest of [false, true]) {
    const dependencies = isTest ? manifest.devDependencies : manifest.dependencies
    for (const [name, version] of Object.entries(dependencies)) {
      if (!EXACT_VERSION.test(version)) says.push(`${name} ${version}: versions are exact`)
      if (GUARDED_PACKAGES[name]?.depend.includes(workspace) === false)
        says.push(`${name} may not be a dependency here`)
      const target = workspaceNamed(tree, name)
      if (target !== undefined && !isAllowed(workspace, target, isTest))
        says.push(arrowText(workspace, target))
    }
  }
  return says.map(text => ({ path, says: text }))
}

function sourceProblems(tree: Tree, source: Source): Problem[] {
  const manifest = tree.manifests.find(other => other.workspace === source.workspace)
  return importsOf(source).flatMap(({ specifier, line }) =>
    importProblems(tree, source, manifest, specifier).map(says => ({ path: source.path, line, says })),
  )
}

function importProblems(
  tree: Tree,
  source: Source,
  manifest: Manifest | undefined,
  specifier: string,
): string[] {
  if (isBuiltin(specifier)) return []
  if (specifier.startsWith('.')) return relativeProblems(tree, source, specifier)
  if (specifier.startsWith('/') || specifier.includes(':')) return [`${specifier}: import by package name`]
  const name = packageOf(specifier)
  const says: string[] = []
  if (GUARDED_PACKAGES[name]?.import.includes(source.workspace) === false) {
    says.push(`${name} may be imported in ${GUARDED_PACKAGES[name].import.join(', ')} alone`)
  }
  const target = workspaceNamed(tree, name)
  if (target !== undefined) {
    if (specifier !== name) says.push(`${specifier}: only the package's index is importable`)
    if (!isAllowed(source.workspace, target, source.isTest)) says.push(arrowText(source.workspace, target))
  }
  if (manifest !== undefined && name !== manifest.name && !isDeclared(manifest, name, source.isTest)) {
    says.push(`${name} is not declared in ${manifest.path}`)
  }
  return says
}

function relativeProblems(tree: Tree, source: Source, specifier: string): string[] {
  const target = posix.join(posix.dirname(source.path), specifier)
  if (!target.startsWith(`${source.workspace}/`)) return [`${specifier} leaves ${source.workspace}`]
  const isTestCode = tree.sources.find(({ path }) => path === target)?.isTest ?? false
  return isTestCode && !source.isTest ? [`${specifier} is for tests`] : []
}

function isAllowed(from: string, to: string, isTest: boolean): boolean {
  if (from === to) return true
  if (isTest && to === TEST_SUPPORT) return true
  return arrowsOf(from)?.includes(shortNameOf(to)) ?? false
}

function isDeclared(manifest: Manifest, name: string, isTest: boolean): boolean {
  return name in manifest.dependencies || (isTest && name in manifest.devDependencies)
}

function workspaceNamed(tree: Tree, name: string): string | undefined {
  return tree.manifests.find(manifest => manifest.name === name)?.workspace
}

function arrowText(from: string, to: string): string {
  return to === TEST_SUPPORT ? 'only tests may import test-support' : `no arrow from ${from} to ${to}`
}
