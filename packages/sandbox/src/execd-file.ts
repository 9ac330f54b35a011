/** Where the `execd` of this machine lies: it is mounted into every sandbox, so a driver needs it before anything else. */
import { accessSync, constants } from 'node:fs'
import { arch } from 'node:process'
import { fileURLToPath } from 'node:url'
import { fail } from './errors.ts'

// Beside the built program or its chunks, then in the workspace from `src/`, from `dist/` and from `dist/chunks/`.
const PLACES = ['./execd/', '../execd/', '../../execd/dist/', '../../../execd/dist/']

/** The given path, or the built file beside this package. */
export function findExecd(given?: string): string {
  const name = `execd-linux-${arch}`
  const looked = given ? [given] : PLACES.map(place => fileURLToPath(new URL(place + name, import.meta.url)))
  const found = looked.find(isExecutable)
  if (!found) throw fail('no_execd', { looked: looked.join(', ') })
  return found
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
