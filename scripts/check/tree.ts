/** The repository as the checks see it: every file's text, the parsed TypeScript and the workspaces' manifests. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ESTree, parseSync } from 'rolldown/utils'

const SKIPPED_FOLDERS = new Set(['node_modules', 'dist', 'target', '.git', '.cache'])
const READ_ENDINGS = ['.ts', '.rs', '.json', '.md', '.sh', '.toml']
const WORKSPACE = /^((?:packages|plugins)\/[^/]+|test-support|bench)\//
// Tests, and what they share beside them.
const TEST_CODE = /\.(test|fixture)\.ts$|\/src\/(.*\/)?testing\//

export type Source = {
  path: string
  /** Folder of the workspace, such as `packages/host`; `scripts` for what belongs to none. */
  workspace: string
  isTest: boolean
  text: string
  program: ESTree.Program
}

export type Manifest = {
  path: string
  workspace: string
  name: string
  dependencies: Readonly<Record<string, string>>
  devDependencies: Readonly<Record<string, string>>
  exports: readonly string[]
}

export type Tree = {
  files: ReadonlyMap<string, string>
  sources: readonly Source[]
  manifests: readonly Manifest[]
}

/** What a check found; `path` is relative to the root. */
export type Problem = { path: string; line?: number; says: string }

/** Reads the repository at `root`; folders of tools and builds are left out. */
export function readTree(root: string): Tree {
  const files: Record<string, string> = {}
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) {
        if (!SKIPPED_FOLDERS.has(entry.name)) visit(path)
      } else if (entry.isFile()) {
        const isRead = READ_ENDINGS.some(ending => entry.name.endsWith(ending))
        files[path] = isRead ? readFileSync(join(root, path), 'utf8') : ''
      }
    }
  }
  visit('')
  return treeOf(files)
}

/** Makes a tree of texts by path; the checks' own tests plant their violations with it. */
export function treeOf(files: Readonly<Record<string, string>>): Tree {
  const sources: Source[] = []
  const manifests: Manifest[] = []
  for (const [path, text] of Object.entries(files)) {
    const workspace = workspaceOf(path)
    if (path.endsWith('.ts')) sources.push(parseSource(path, workspace, text))
    if (path === `${workspace}/package.json`) manifests.push(parseManifest(path, workspace, text))
  }
  return { files: new Map(Object.entries(files)), sources, manifests }
}

/** Line number, from 1, of a character offset. */
export function lineAt(source: Source, offset: number): number {
  return source.text.slice(0, offset).split('\n').length
}

function workspaceOf(path: string): string {
  return WORKSPACE.exec(path)?.[1] ?? 'scripts'
}

function parseSource(path: string, workspace: string, text: string): Source {
  const isTest = TEST_CODE.test(path) || (workspace !== 'scripts' && path.startsWith(`${workspace}/test/`))
  return { path, workspace, isTest, text, program: parseSync(path, text).program }
}

function parseManifest(path: string, workspace: string, text: string): Manifest {
  const json: unknown = JSON.parse(text)
  const exports = field(json, 'exports')
  return {
    path,
    workspace,
    name: String(field(json, 'name')),
    dependencies: texts(field(json, 'dependencies')),
    devDependencies: texts(field(json, 'devDependencies')),
    exports: typeof exports === 'object' && exports !== null ? Object.keys(exports) : [],
  }
}

function field(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined
}

function texts(json: unknown): Record<string, string> {
  if (typeof json !== 'object' || json === null) return {}
  return Object.fromEntries(Object.entries(json).map(([name, version]) => [name, String(version)]))
}
