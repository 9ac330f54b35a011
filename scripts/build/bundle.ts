/** Bundles one program or library with tsdown, from source. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'

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
  await run(folder, { ...(main === undefined ? {} : { program: main }), ...others }, { alwaysBundle: [/.*/] })
  if (main !== undefined)
    await copyFile(join(import.meta.dirname, 'launcher.js'), join(folder, 'dist/main.js'))
}

/** A package's index for those who load it from outside of a bundle, such as plugins; what it imports stays outside. */
export async function bundleLibrary(root: string, workspace: string): Promise<void> {
  await run(join(root, workspace), { index: 'src/index.ts' }, { neverBundle: [/^[^./]/] })
}

type Dependencies = { alwaysBundle: RegExp[] } | { neverBundle: RegExp[] }

async function run(cwd: string, entry: Record<string, string>, deps: Dependencies): Promise<void> {
  await build({
    config: false,
    cwd,
    entry,
    deps,
    outDir: 'dist',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    dts: false,
    fixedExtension: false,
    logLevel: 'warn',
    inputOptions: { resolve: { conditionNames: CONDITIONS } },
  })
}
