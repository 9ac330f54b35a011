/** What the command needs of the process around it; `main.ts` hands in the real one, tests their own. */
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { Clock, Random } from '@beige/protocol'
import { type Layout, layoutOf } from '../home/layout.ts'

export type World = {
  env: Record<string, string | undefined>
  cwd: string
  pid: number
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
  stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
  clock: Clock
  random: Random
  /** How this very program is started again: node's own arguments and the entry. */
  nodeArgs: readonly string[]
  entry: string
  runner: URL
  /** Calls back at each SIGINT, SIGTERM and SIGHUP, once where several come in one breath, until the answer is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void
  onUncaught(listener: (error: unknown) => void): void
  exit(code: number): never
}

export const EXIT = { done: 0, failed: 1, usage: 2, notRunning: 3, notReady: 4, crashed: 70 } as const

export function homeOf(world: Pick<World, 'env' | 'cwd'>): Layout {
  const named = world.env.BEIGE_HOME
  const home = named === undefined || named === '' ? join(world.env.HOME ?? homedir(), '.beige') : named
  return layoutOf(isAbsolute(home) ? home : resolve(world.cwd, home))
}

/** `--config`, else the home's own. */
export function configFileOf(world: Pick<World, 'env' | 'cwd'>, given: string | undefined): string {
  return given === undefined ? homeOf(world).config : resolve(world.cwd, given)
}
