/** Bundles one program or library from source with rolldown. */

import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { build } from 'rolldown'

const MIGRATIONS = 'packages/sessions/src/postgres/migrations'
// `import` and `require` come by how a package is asked for: named here, a `require` would get what is meant for imports.
const CONDITIONS = ['beige-source', 'node', 'default']

/**
 * A program and all it needs, providers' SDKs in chunks that load when first used. One folder of a few files loads in
 * half the time of node_modules (docs/decisions/bundles.md).
 */
export async function bundleProgram(
  root: string,
  workspace: string,
  entries: Record<string, string>,
): Promise<void> {
  const folder = join(root, workspace)
  const { main, ...others } = entries
  const made = await bundle(
    folder,
    { ...(main === undefined ? {} : { program: main }), ...others },
    isBuiltin,
  )
  if (main !== undefined) {
    await copyFile(join(import.meta.dirname, 'launcher.js'), join(made, 'main.js'))
    // A sandbox mounts execd from beside the program; `npm run build:execd` makes it.
    const execd = join(root, 'packages/execd/dist')
    if (existsSync(execd)) await cp(execd, join(made, 'execd'), { recursive: true })
    await cp(join(root, MIGRATIONS), join(made, basename(MIGRATIONS)), { recursive: true })
  }
  await replace(join(folder, 'dist'), made)
}

/** A package's index for those who load it from outside of a bundle, such as plugins; what it imports stays outside. */
export async function bundleLibrary(root: string, workspace: string): Promise<void> {
  const isPackageName = (specifier: string): boolean => !/^[./]/.test(specifier)
  const folder = join(root, workspace)
  await replace(join(folder, 'dist'), await bundle(folder, { index: 'src/index.ts' }, isPackageName))
}

/** Bundles into a new folder beside `dist` and returns its path. */
async function bundle(
  cwd: string,
  input: Record<string, string>,
  external: (id: string) => boolean,
): Promise<string> {
  const made = join(cwd, `.cache/dist-${process.pid}`)
  await build({
    cwd,
    input,
    external,
    platform: 'node',
    resolve: { conditionNames: CONDITIONS },
    transform: { target: 'node24' },
    logLevel: 'warn',
    output: {
      dir: made,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
    },
  })
  return made
}

// File by file, and what is no longer made goes last: a program that runs from here finds each file at any moment.
async function replace(dist: string, made: string): Promise<void> {
  const files = await filesBelow(made)
  for (const file of files) {
    await mkdir(dirname(join(dist, file)), { recursive: true })
    await rename(join(made, file), join(dist, file))
  }
  for (const file of await filesBelow(dist)) {
    if (!files.includes(file)) await rm(join(dist, file), { force: true })
  }
  await rm(made, { recursive: true, force: true })
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
