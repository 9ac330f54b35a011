/** Sorts the repository's test files into those that run anywhere and those that need something a machine may lack. */
import type { Tree } from '../check/tree.ts'

const ENGINE_ENDING = '.engine.test.ts'

/** Tests that need Node and the npm packages alone: these are part of `npm run check`. */
export function unitTestFiles(tree: Tree): string[] {
  return allTestFiles(tree).filter(path => !path.endsWith(ENGINE_ENDING))
}

/** Every test, those first that take longest: the ones with an engine. */
export function allTestFiles(tree: Tree): string[] {
  const paths = [...tree.files.keys()].filter(path => path.endsWith('.test.ts')).sort()
  const needsEngine = (path: string): number => (path.endsWith(ENGINE_ENDING) ? 0 : 1)
  return paths.sort((a, b) => needsEngine(a) - needsEngine(b))
}
