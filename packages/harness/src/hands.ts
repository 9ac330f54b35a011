/** Hands that a sandbox driver gives: opened at the first need, opened again after the sandbox was lost or died (H27). */
import { isError } from '@beige/protocol'
import type { ExecClient, JobCalls, Sandbox, SandboxDriver, SandboxSpec } from '@beige/sandbox'
import type { Hands } from './tool.ts'

export interface SandboxHands extends Hands {
  /** The sandbox that was opened last. */
  readonly sandbox: Sandbox | null
  /** Ends the sandbox and everything in it. */
  close(): Promise<void>
  /** Lets go of it; what runs in it goes on. */
  detach(): Promise<void>
}

/** `driver` is asked for when it is first needed, so that choosing one costs a run without tools nothing. */
export function sandboxHands(
  driver: (signal: AbortSignal) => Promise<SandboxDriver>,
  spec: SandboxSpec,
): SandboxHands {
  let opening: Promise<Sandbox> | null = null
  let sandbox: Sandbox | null = null

  async function opened(signal: AbortSignal): Promise<Sandbox> {
    const made = await (await driver(signal)).open(spec, signal)
    sandbox = made
    return made
  }

  function current(signal: AbortSignal): Promise<Sandbox> {
    if (opening) return opening
    const mine = opened(signal)
    opening = mine
    mine.catch(() => lose(mine))
    return mine
  }

  /** Only that one: another may have been opened since. */
  function lose(mine: Promise<Sandbox>): void {
    if (opening === mine) opening = null
  }

  async function answering(signal: AbortSignal): Promise<{ open: Sandbox; lost: () => void }> {
    const known = opening
    const mine = current(signal)
    const open = await mine
    if (known === null || (await isThere(open, signal))) return { open, lost: () => lose(mine) }
    lose(mine)
    const next = current(signal)
    return { open: await next, lost: () => lose(next) }
  }

  async function end(how: (open: Sandbox) => Promise<void>): Promise<void> {
    // One that was lost and not opened again may still run: only the way to it was lost.
    const open = (await opening?.catch(() => null)) ?? sandbox
    opening = null
    sandbox = null
    if (open) await how(open)
  }

  return {
    id: spec.id,
    get sandbox() {
      return sandbox
    },
    open: async signal => {
      const { open, lost } = await answering(signal)
      return { exec: watched(open.exec, lost), generation: open.generation, workspace: open.workspace }
    },
    close: () => end(open => open.close()),
    detach: () => end(open => open.detach()),
  }
}

/** False where nobody answers any more, or somebody else: it died while nothing ran in it, or was started anew. */
async function isThere(sandbox: Sandbox, signal: AbortSignal): Promise<boolean> {
  try {
    const health = await sandbox.exec.health(signal)
    return health === null || health.instance === sandbox.generation
  } catch (error) {
    if (isError(error, 'endpoint_lost', 'endpoint_unreachable')) return false
    throw error
  }
}

/** The same client; an answer that the endpoint is gone is passed on to `lost` as well. */
function watched(exec: ExecClient, lost: () => void): ExecClient {
  const noticed = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    try {
      return await answer
    } catch (error) {
      if (isError(error, 'endpoint_lost', 'endpoint_unreachable')) lost()
      throw error
    }
  }
  return {
    ...watchedJobs(exec, noticed),
    endpoint: exec.endpoint,
    health: signal => noticed(exec.health(signal)),
    run: (command, signal) => noticed(exec.run(command, signal)),
    stream: (command, onChunk, signal) => noticed(exec.stream(command, onChunk, signal)),
    readFile: (path, signal, range) => noticed(exec.readFile(path, signal, range)),
    writeFile: (path, bytes, signal, options) => noticed(exec.writeFile(path, bytes, signal, options)),
    stat: (path, signal) => noticed(exec.stat(path, signal)),
    list: (path, signal, options) => noticed(exec.list(path, signal, options)),
    remove: (path, signal) => noticed(exec.remove(path, signal)),
    close: () => exec.close(),
  }
}

function watchedJobs(
  exec: JobCalls,
  noticed: <Answer>(answer: Promise<Answer>) => Promise<Answer>,
): JobCalls {
  return {
    hasJobs: signal => noticed(exec.hasJobs(signal)),
    startJob: (command, job, how, signal) => noticed(exec.startJob(command, job, how, signal)),
    followJob: (job, from, onChunk, signal) => noticed(exec.followJob(job, from, onChunk, signal)),
    readJob: (job, from, waitMs, onChunk, signal) =>
      noticed(exec.readJob(job, from, waitMs, onChunk, signal)),
    jobState: (job, signal) => noticed(exec.jobState(job, signal)),
    listJobs: (scope, signal) => noticed(exec.listJobs(scope, signal)),
    keepJob: (job, signal, notify) => noticed(exec.keepJob(job, signal, notify)),
    writeJobStdin: (job, bytes, signal, how) => noticed(exec.writeJobStdin(job, bytes, signal, how)),
    killJob: (job, signal) => noticed(exec.killJob(job, signal)),
    killScope: (scope, signal) => noticed(exec.killScope(scope, signal)),
  }
}
