/** What the tests of docs/sandboxes.md share: its blocks of commands, a plain user, and a place that has what they name. */
import { execFileSync, type SpawnOptions } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getegid, geteuid } from 'node:process'
import type { TestContext } from 'node:test'
import { DEFAULT_LIMITS, findExecd, type SandboxSpec } from '../src/index.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PAGE = readFileSync(join(ROOT, 'docs/sandboxes.md'), 'utf8')
const NOBODY = 65_534 // there everywhere, and owns nothing

/** Endpoints elsewhere take nothing of it. */
export const anySpec: SandboxSpec = {
  id: 'elsewhere',
  labels: {},
  workspaceDir: '/nowhere',
  runDir: '/nowhere',
  mounts: [],
  env: {},
  network: 'none',
  limits: DEFAULT_LIMITS,
}

/** The blocks of a recipe by its number, as they are on the page. */
export function recipe(number: number): string[] {
  const [, section = ''] = PAGE.split(new RegExp(`^## ${number}\\. .*$`, 'm'))
  const [own = ''] = section.split(/^## /m)
  return [...own.matchAll(/```[a-z]+\n([\s\S]*?)```/g)].map(match => match[1] ?? '')
}

/** Who is not root: `nobody` where the test is. */
export const plainUser = isRoot()
  ? { uid: NOBODY, gid: NOBODY }
  : { uid: geteuid?.() ?? NOBODY, gid: getegid?.() ?? NOBODY }
export const asPlainUser: SpawnOptions = isRoot() ? plainUser : {}

export function isRoot(): boolean {
  return geteuid?.() === 0
}

/** A folder with what the recipes take for granted, the plain user's own where `owned` says so. It goes with the test. */
export function recipeFolder(context: TestContext, owned: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), 'beige-recipe-'))
  chmodSync(folder, 0o711) // the plain user goes through it
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  copyFileSync(findExecd(), join(home, 'execd-linux-x64'))
  copyFileSync(join(ROOT, 'packages/execd/install-execd.sh'), join(home, 'install-execd.sh'))
  if (owned && isRoot()) {
    for (const name of ['', 'execd-linux-x64', 'install-execd.sh'])
      chownSync(join(home, name), plainUser.uid, plainUser.gid)
  }
  return home
}

/** Runs a block; what it prints, and the number of the process that it left in the background. */
export function runBlock(text: string, home: string, options: SpawnOptions = {}) {
  const { uid, gid } = options
  const out = execFileSync('sh', ['-eu', '-c', `${text}\necho "pid=\${!-}"`], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, DOCKER_HOST: process.env.DOCKER_HOST, DOCKER_BUILDKIT: '0' },
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { out, pid: Number(/^pid=(\d+)$/m.exec(out)?.[1] ?? 0) }
}

/** Ends with the test what a block left. */
export function endAfter(context: TestContext, pid: number): void {
  context.after(() => {
    try {
      process.kill(pid)
    } catch {
      // it has ended by itself
    }
  })
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
