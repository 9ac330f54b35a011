/**
 * Fails on a lock file that `npm ci` would refuse or that ties the project to one registry: a dependency without its
 * entry (npm leaves out what a registry does not have), a workspace whose manifest has moved on, a registry's address.
 */
import type { Problem, Tree } from './tree.ts'

const LOCK = 'package-lock.json'

export function checkLockFile(tree: Tree): Problem[] {
  const entries = new Map(Object.entries(recordAt(parsed(tree), 'packages')))
  const says: string[] = []
  for (const [place, entry] of entries) {
    if ('resolved' in recordOf(entry) && !Reflect.has(recordOf(entry), 'link'))
      says.push(`${place} names its registry`)
    for (const field of ['dependencies', 'optionalDependencies']) {
      for (const name of Object.keys(recordAt(entry, field))) {
        if (!isLocked(entries, place, name))
          says.push(`${name}, which ${place || 'the root'} needs, has no entry`)
      }
    }
  }
  for (const { workspace, dependencies, devDependencies } of tree.manifests) {
    const entry = entries.get(workspace)
    const isSame =
      sameText(dependencies, recordAt(entry, 'dependencies')) &&
      sameText(devDependencies, recordAt(entry, 'devDependencies'))
    if (!isSame) says.push(`${workspace}/package.json has other dependencies: run npm install`)
  }
  return says.map(text => ({ path: LOCK, says: text }))
}

// As node finds it: in the node_modules beside it, then in those above.
function isLocked(entries: ReadonlyMap<string, unknown>, place: string, name: string): boolean {
  let folder = place
  for (;;) {
    if (entries.has(folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`)) return true
    if (folder === '') return false
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))
  }
}

function sameText(a: object, b: object): boolean {
  const text = (record: object): string => JSON.stringify(Object.entries(record).sort())
  return text(a) === text(b)
}

function parsed(tree: Tree): unknown {
  return JSON.parse(tree.files.get(LOCK) ?? '{}')
}

function recordAt(value: unknown, name: string): object {
  return recordOf(Reflect.get(recordOf(value), name))
}

function recordOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
