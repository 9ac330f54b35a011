/** The sandbox of a session that `agent` runs: chosen at the first tool call, one per session, gone at its end. */
import { createHash } from 'node:crypto'
import { lstat, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CONTEXT_FILE_NAMES, type Hands, type Session, sandboxHands } from '@beige/harness'
import { type Clock, explain, isError } from '@beige/protocol'
import {
  chooseDriver,
  DEFAULT_LIMITS,
  type DriverOptions,
  NO_INSTANCE,
  openDriver,
  type SandboxDriver,
  type SandboxSpec,
} from '@beige/sandbox'
import { fail } from './errors.ts'
import type { AgentOptions } from './options.ts'

export const WORKSPACE = '/workspace'
const LOCAL_DRIVERS = ['docker', 'bubblewrap', 'host'] as const
type LocalDriver = (typeof LOCAL_DRIVERS)[number]

const IDLE_PAUSE_MS = 600_000 // nothing runs in it then, and somebody else can use its memory's pages
const LEFT_BEHIND_MS = 20_000 // to find and end what a killed owner left

export type AgentHands = Hands & {
  /** The folder that the model is told of. Only an endpoint elsewhere can say which it is, once it is open. */
  readonly workdir: string
  /** Ends the sandbox and everything in it, also the one that a killed owner of the session left. */
  close(): Promise<void>
  /** Lets go of the sandbox, which is another owner's now. */
  detach(): Promise<void>
}

export function agentHands(
  options: Pick<AgentOptions, 'sandbox' | 'sandboxImage' | 'stateDir'>,
  session: Session,
  cwd: string,
  drivers: DriverOptions,
  clock: Clock,
  warn: (text: string) => void,
): AgentHands {
  // Ids are file names in any case and up to 128 long; a container name is neither.
  const { id: sessionId, epoch } = session.log
  const id = `agent-${createHash('sha256').update(sessionId).digest('hex').slice(0, 16)}`
  const runDir = join(options.stateDir, 'sandboxes', id)
  const spec: SandboxSpec = {
    id,
    labels: { 'beige.session': sessionId },
    workspaceDir: cwd,
    runDir,
    mounts: [],
    env: {},
    network: 'none',
    limits: DEFAULT_LIMITS,
    image: options.sandboxImage,
    fence: { scope: sessionId, n: epoch },
  }
  if (options.sandbox.kind === 'host') warn('tools run on this machine with your own rights (--sandbox host)')
  const hands = sandboxHands(async signal => ownFolder(await driverOf(options, drivers, signal)), spec, {
    clock,
    idlePauseMs: IDLE_PAUSE_MS,
  })

  let isTold = false

  // It ends with its session on whatever driver it was: the next start may choose another.
  async function endLeft(kind: LocalDriver): Promise<void> {
    try {
      const signal = AbortSignal.timeout(LEFT_BEHIND_MS)
      const left = await ownFolder(openDriver({ kind }, drivers)).open(spec, signal)
      await left.close()
      await rm(join(runDir, kind), { recursive: true, force: true })
    } catch (error) {
      warn(`a ${kind} sandbox of a killed owner could not be ended: ${explain(error)}`)
    }
  }

  return {
    id: hands.id,
    get workdir() {
      return hands.sandbox?.workspace ?? (options.sandbox.kind === 'host' ? cwd : WORKSPACE)
    },
    async open(signal) {
      const opened = await hands.open(signal)
      if (!isTold && opened.generation === NO_INSTANCE) {
        isTold = true
        warn('the exec endpoint has no /health: files become commands, and nothing runs in the background')
      }
      return opened
    },
    detach: () => hands.detach(),
    close: async () => {
      const mine = hands.sandbox?.driver
      await hands.close()
      if (mine) await rm(join(runDir, mine), { recursive: true, force: true })
      for (const kind of LOCAL_DRIVERS) if (await exists(join(runDir, kind))) await endLeft(kind)
      await rmdir(runDir).catch(() => {}) // not there, or kept for what could not be ended
    },
  }
}

/** The same driver, which keeps its things in a folder of its own. */
function ownFolder(driver: SandboxDriver): SandboxDriver {
  return {
    name: driver.name,
    unavailable: signal => driver.unavailable(signal),
    open: (spec, signal) => driver.open({ ...spec, runDir: join(spec.runDir, driver.name) }, signal),
  }
}

async function driverOf(
  { sandbox }: Pick<AgentOptions, 'sandbox'>,
  drivers: DriverOptions,
  signal: AbortSignal,
): Promise<SandboxDriver> {
  try {
    return await chooseDriver(sandbox, signal, drivers)
  } catch (error) {
    if (!isError(error, 'no_sandbox')) throw error
    throw fail('no_sandbox', error.data, error)
  }
}

/** Told before any model is asked: with such a folder every tool call would fail. */
export async function refuseWorkspaceOfRoot(
  options: Pick<AgentOptions, 'sandbox'>,
  cwd: string,
): Promise<void> {
  if (options.sandbox.kind === 'host' || options.sandbox.kind === 'remote') return
  if ((await lstat(cwd)).uid === 0) throw fail('workspace_of_root', { path: cwd })
}

/**
 * Whether there may be notes to read. Their names are looked at here so that a workspace without any does not make the
 * first model request wait for its sandbox; their content is read through the sandbox alone.
 */
export async function hasNotes(options: Pick<AgentOptions, 'sandbox'>, cwd: string): Promise<boolean> {
  if (options.sandbox.kind === 'remote') return true // its files are elsewhere
  const folders = options.sandbox.kind === 'host' ? upwards(cwd) : [cwd]
  const places = folders.flatMap(folder => CONTEXT_FILE_NAMES.map(name => join(folder, name)))
  return (await Promise.all(places.map(exists))).includes(true)
}

function upwards(folder: string): string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...upwards(parent)]
}

// A link counts as it is: where it leads is for the sandbox to say.
function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
