/** Where the `execd` of this machine lies: it is mounted into every sandbox, so a driver needs it before anything else. */
import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { arch } from 'node:process'
import { fileURLToPath } from 'node:url'
import { fail } from './errors.ts'

// Beside the built program or its chunks, then in the workspace from `src/`, from `dist/` and from `dist/chunks/`.
const PLACES = ['./execd/', '../execd/', '../../execd/dist/', '../../../execd/dist/']

/**
 * The given path; else the built file beside this package, or that of the npm package of this platform. `from` is the module
 * that looks.
 */
export function findExecd(given?: string, from: string = import.meta.url): string {
  const name = `execd-linux-${arch}`
  const looked = given ? [given] : PLACES.map(place => fileURLToPath(new URL(place + name, from)))
  const found = looked.find(isExecutable) ?? (given ? null : inPackage(`@beige/${name}`, from))
  if (!found) throw fail('no_execd', { looked: [...looked, ...(given ? [] : [`@beige/${name}`])].join(', ') })
  return found
}

/** npm installs the package of the machine's own platform alone. */
function inPackage(name: string, from: string): string | null {
  try {
    const path = createRequire(from).resolve(`${name}/dist/execd`)
    return isExecutable(path) ? path : null
  } catch {
    return null
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
