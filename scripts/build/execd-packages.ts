/** Puts each execd that is built into the npm package of its platform. */
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'

export const EXECD_ARCHES = ['x64', 'arm64'] as const

/** The packages that have one now. */
export async function fillExecdPackages(root: string): Promise<string[]> {
  const filled: string[] = []
  for (const arch of EXECD_ARCHES) {
    const built = join(root, 'packages/execd/dist', `execd-linux-${arch}`)
    if (!existsSync(built)) continue
    const workspace = `packages/execd-linux-${arch}`
    const dist = join(root, workspace, 'dist')
    await mkdir(dist, { recursive: true })
    const temporary = join(dist, `.execd-${process.pid}`)
    await copyFile(built, temporary)
    await chmod(temporary, 0o755)
    await rename(temporary, join(dist, 'execd')) // one that runs from here stays whole
    filled.push(workspace)
  }
  return filled
}
