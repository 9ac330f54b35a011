/** `/tools/bin`: one link for each allowed tool, and nothing else (H64). */
import { chmodSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Inside the sandbox; outside the link leads nowhere, and nobody follows it there. */
export const TOOL_CLIENT = '/beige/tool-client'

/** Makes the folder hold exactly a launcher for each of `tools`. */
export function writeLaunchers(folder: string, tools: readonly string[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  chmodSync(folder, 0o755) // its parent is private; the sandbox's own user has to look into it
  const wanted = new Set(tools)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const isGood = wanted.has(name) && lstatSync(path).isSymbolicLink() && readlinkSync(path) === TOOL_CLIENT
    if (isGood) wanted.delete(name)
    else rmSync(path, { recursive: true, force: true })
  }
  for (const name of wanted) symlinkSync(TOOL_CLIENT, join(folder, name))
}
