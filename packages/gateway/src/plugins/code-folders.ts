/** Which folders hold the code that a plugin's process has to load besides the plugin: all that it may read of ours. */
import { realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGES = ['@beige/plugin-sdk', '@beige/protocol', '@earendil-works/pi-schema']

/** `entry` is the runner's module. A build that bundled a package has no folder of it. */
export function codeFolders(entry: URL): string[] {
  const folders = new Set([packageFolder(dirname(fileURLToPath(entry)))])
  for (const name of PACKAGES) {
    const module = resolved(name)
    if (module !== null) folders.add(packageFolder(dirname(fileURLToPath(module))))
    for (const link of linksTo(name, fileURLToPath(entry))) folders.add(link)
  }
  return [...folders]
}

function resolved(name: string): string | null {
  try {
    return import.meta.resolve(name)
  } catch {
    return null
  }
}

function packageFolder(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (isThere(join(at, 'package.json'))) return realpathSync(at)
    if (dirname(at) === at) return folder
  }
}

/** In a workspace a package is a link; the loader looks at the link before it follows it. */
function linksTo(name: string, from: string): string[] {
  const found: string[] = []
  for (let at = dirname(from); dirname(at) !== at; at = dirname(at)) {
    const link = join(at, 'node_modules', name)
    if (isThere(link)) found.push(link)
  }
  return found
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}
