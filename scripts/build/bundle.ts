/** Bundles one program or library from source with rolldown. */

import { existsSync } from 'node:fs'
import { copyFile, cp, rm } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { build } from 'rolldown'

const CONDITIONS = ['beige-source', 'import', 'node', 'default']

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
  await bundle(folder, { ...(main === undefined ? {} : { program: main }), ...others }, isBuiltin)
  if (main === undefined) return
  await copyFile(join(import.meta.dirname, 'launcher.js'), join(folder, 'dist/main.js'))
  // A sandbox mounts execd from beside the program; `npm run build:execd` makes it.
  const execd = join(root, 'packages/execd/dist')
  if (existsSync(execd)) await cp(execd, join(folder, 'dist/execd'), { recursive: true })
}

/** A package's index for those who load it from outside of a bundle, such as plugins; what it imports stays outside. */
export async function bundleLibrary(root: string, workspace: string): Promise<void> {
  const isPackageName = (specifier: string): boolean => !/^[./]/.test(specifier)
  await bundle(join(root, workspace), { index: 'src/index.ts' }, isPackageName)
}

async function bundle(
  cwd: string,
  input: Record<string, string>,
  external: (id: string) => boolean,
): Promise<void> {
  await rm(join(cwd, 'dist'), { recursive: true, force: true })
  await build({
    cwd,
    input,
    external,
    platform: 'node',
    resolve: { conditionNames: CONDITIONS },
    transform: { target: 'node24' },
    logLevel: 'warn',
    output: {
      dir: 'dist',
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
    },
  })
}
