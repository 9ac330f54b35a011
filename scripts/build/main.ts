/** `npm run build`: the programs as bundles in their package's dist/, and the libraries that are loaded from outside. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serveJsonSchema } from '@beige/protocol'
import { bundleLibrary, bundleProgram } from './bundle.ts'
import { fillExecdPackages } from './execd-packages.ts'
import { LIBRARIES, PROGRAMS } from './products.ts'

const root = join(import.meta.dirname, '../..')

for (const [workspace, entries] of Object.entries(PROGRAMS)) {
  await product(workspace, Object.values(entries), () => bundleProgram(root, workspace, entries))
}
for (const workspace of LIBRARIES) {
  await product(workspace, ['src/index.ts'], () => bundleLibrary(root, workspace))
}
await product('packages/protocol', ['src/serve/json-schema.ts'], async () => {
  const schema = join(root, 'packages/protocol/dist/serve-2.schema.json')
  await writeFile(schema, `${JSON.stringify(serveJsonSchema(), null, 2)}\n`)
})
for (const workspace of await fillExecdPackages(root)) console.log(`✓ ${workspace}`)

/** One that fails does not keep the others from being built. */
async function product(
  workspace: string,
  sources: readonly string[],
  make: () => Promise<void>,
): Promise<void> {
  const missing = sources.find(path => !existsSync(join(root, workspace, path)))
  const sinceMs = performance.now()
  try {
    if (missing !== undefined) throw new Error(`${missing} is not there`)
    await make()
    console.log(`✓ ${workspace} (${((performance.now() - sinceMs) / 1000).toFixed(1)} s)`)
  } catch (error) {
    process.exitCode = 1
    console.log(`✗ ${workspace}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
