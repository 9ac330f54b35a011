/** Puts each line of docs/hazards.md beside its tests and its place on the waiting list. Pure. */
import { basename } from 'node:path'
import type { Problem } from '../check/tree.ts'

const LINE = /^- \*\*(H\d{2,3})\*\* (.*?) →/gm
const TEST_NAME = /^(H\d{2,3})-.*\.test\.ts$/
const DOCUMENT = 'docs/hazards.md'

export type Hazard = { id: string; title: string; tests: readonly string[]; waitsFor: string | undefined }

export function hazardsOf(
  files: ReadonlyMap<string, string>,
  waiting: Readonly<Record<string, string>>,
): Hazard[] {
  const tests = Map.groupBy(testsOf(files), ({ id }) => id)
  return [...(files.get(DOCUMENT) ?? '').matchAll(LINE)].map(([, id = '', title = '']) => ({
    id,
    title,
    tests: (tests.get(id) ?? []).map(({ path }) => path),
    waitsFor: waiting[id],
  }))
}

/** A line needs a test or a place on the waiting list, never both; a test needs its line. */
export function hazardProblems(
  files: ReadonlyMap<string, string>,
  waiting: Readonly<Record<string, string>>,
): Problem[] {
  const hazards = hazardsOf(files, waiting)
  const known = new Set(hazards.map(({ id }) => id))
  const problems: Problem[] = []
  for (const { id, tests, waitsFor } of hazards) {
    if (tests.length === 0 && waitsFor === undefined)
      problems.push({ path: DOCUMENT, says: `${id} has no test` })
    if (tests.length > 0 && waitsFor !== undefined) {
      problems.push({ path: 'scripts/hazards/waiting.ts', says: `${id} has a test: take it off the list` })
    }
  }
  for (const { id, path } of testsOf(files)) {
    if (!known.has(id)) problems.push({ path, says: `${id} is not in ${DOCUMENT}` })
  }
  return problems
}

function testsOf(files: ReadonlyMap<string, string>): { id: string; path: string }[] {
  return [...files.keys()].flatMap(path => {
    const id = TEST_NAME.exec(basename(path))?.[1]
    return id === undefined ? [] : [{ id, path }]
  })
}
