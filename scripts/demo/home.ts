/** The demo's own home: a configuration, and a workspace with a real published package in it. */
import { chown, cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { makeWorkspace } from '@beige/sandbox'
import type { DemoModel } from './model.ts'

export const AGENT = 'demo'
const INSIDE_NODE = '/opt/node'

export type DemoHome = { home: string; workspace: string }

export const demoHomeOf = (root: string) => join(root, '.cache/demo')

export async function demoHome(root: string, model: DemoModel, driver: string): Promise<DemoHome> {
  const home = demoHomeOf(root)
  await rm(home, { recursive: true, force: true })
  await mkdir(home, { recursive: true, mode: 0o700 })
  const workspace = join(home, 'agents', AGENT, 'workspace')
  makeWorkspace(workspace)
  const source = dirname(createRequire(import.meta.url).resolve('semver/package.json'))
  await cp(source, workspace, { recursive: true })
  await giveTo(workspace)
  const config = {
    llm: { providers: model.providers },
    plugins: { kv: { path: join(root, 'plugins/kv') } },
    agents: {
      [AGENT]: {
        model: model.model,
        tools: ['kv'],
        sandbox: {
          driver,
          ...(driver === 'docker' ? { image: 'host-usr' } : {}),
          // The node that this runs on, so that the demo does not depend on what the machine has.
          extraMounts: [{ host: dirname(process.execPath), container: INSIDE_NODE }],
          extraEnv: { PATH: `/tools/bin:${INSIDE_NODE}:/usr/local/bin:/usr/bin:/bin` },
        },
      },
    },
    gateway: { port: 0 },
  }
  await writeFile(
    join(home, 'config.json5'),
    `// Made by npm run demo.\n${JSON.stringify(config, null, 2)}\n`,
    {
      mode: 0o600,
    },
  )
  return { home, workspace }
}

/** All in it belongs to the folder's owner, as whom the agent works. */
async function giveTo(workspace: string): Promise<void> {
  const { uid, gid } = await stat(workspace)
  for (const name of await readdir(workspace, { recursive: true }))
    await chown(join(workspace, name), uid, gid)
}
