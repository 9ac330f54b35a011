/** The checks that only read the repository, by the name they are reported under. */
import { hazardProblems } from '../hazards/hazards.ts'
import { WAITING } from '../hazards/waiting.ts'
import { checkBannedGlobals } from './banned-globals.ts'
import { checkBannedNames } from './banned-names.ts'
import { checkBannedText } from './banned-text.ts'
import { checkDocuments } from './documents.ts'
import { checkErrorTables } from './error-tables.ts'
import { checkFileSizes, describeFileSizes } from './file-sizes.ts'
import { checkImportArrows } from './import-arrows.ts'
import { checkImportCycles } from './import-cycles.ts'
import { checkLockFile } from './lock-file.ts'
import type { Problem, Tree } from './tree.ts'

export type StaticCheck = {
  name: string
  find: (tree: Tree) => Problem[]
  /** What is said of a tree without problems, beside the name. */
  describe?: (tree: Tree) => string
}

export const staticChecks: readonly StaticCheck[] = [
  { name: 'import arrows', find: checkImportArrows, describe: tree => `${tree.sources.length} sources` },
  { name: 'import cycles', find: checkImportCycles },
  { name: 'lock file', find: checkLockFile },
  { name: 'file sizes', find: checkFileSizes, describe: describeFileSizes },
  { name: 'names', find: checkBannedNames },
  { name: 'outside handed in', find: tree => checkBannedGlobals(tree) },
  { name: 'error tables', find: checkErrorTables },
  { name: 'documents', find: checkDocuments },
  { name: 'hazards', find: tree => hazardProblems(tree.files, WAITING) },
  { name: 'banned text', find: checkBannedText },
]
