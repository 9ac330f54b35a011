/** Sorts the repository's test files into those that run anywhere and those that need something a machine may lack. */
import type { Tree } from '../check/tree.ts'

const ENGINE_ENDING = '.engine.test.ts'

/** Tests that need Node and the npm packages alone: these are part of `npm run check`. */
export function unitTestFiles(tree: Tree): string[] {
  return allTestFiles(tree).filter(path => !isEngineTest(path))
}

/** Every test, those first that take longest: the ones with an engine. */
export function allTestFiles(tree: Tree): string[] {
  const paths = [...tree.files.keys()].filter(path => path.endsWith('.test.ts')).sort()
  return paths.sort((a, b) => Number(isEngineTest(b)) - Number(isEngineTest(a)))
}

/** Whether a test needs an engine, a program or time that a unit test does without. */
export function isEngineTest(path: string): boolean {
  return path.endsWith(ENGINE_ENDING)
}
