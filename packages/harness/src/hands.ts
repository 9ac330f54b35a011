/** Hands that a sandbox driver gives: opened at the first need, asleep while idle, opened again after a loss (H27). */
import { isError } from '@beige/protocol'
import type { ExecClient, JobCalls, Sandbox, SandboxDriver, SandboxSpec } from '@beige/sandbox'
import { type IdleSettings, type IdleSleep, idleSleep } from './idle-sleep.ts'
import type { Hands } from './tool.ts'

export interface SandboxHands extends Hands {
  /** The sandbox that was opened last. */
  readonly sandbox: Sandbox | null
  /** Ends the sandbox and everything in it. */
  close(): Promise<void>
  /** Lets go of it; what runs in it goes on. */
  detach(): Promise<void>
}

const ALWAYS_AWAKE: IdleSleep = { awake: call => call(), stop: async () => undefined }

type Opened = { sandbox: Sandbox; idle: IdleSleep }

/** Put around each call of a sandbox. */
type Around = <Answer>(call: () => Promise<Answer>) => Promise<Answer>

/**
 * `driver` is asked for when it is first needed, so that choosing one costs a run without tools nothing. Without `settings`
 * it never sleeps.
 */
export function sandboxHands(
  driver: (signal: AbortSignal) => Promise<SandboxDriver>,
  spec: SandboxSpec,
  settings?: IdleSettings,
): SandboxHands {
  let opening: Promise<Opened> | null = null
  let last: Opened | null = null

  async function opened(signal: AbortSignal, lost: () => void): Promise<Opened> {
    const sandbox = await (await driver(signal)).open(spec, signal)
    const idle = settings ? idleSleep(sandbox, settings) : ALWAYS_AWAKE
    const around: Around = async call => {
      try {
        return await idle.awake(call)
      } catch (error) {
        if (isError(error, 'endpoint_lost', 'endpoint_unreachable')) {
          lost()
          void idle.stop()
        }
        throw error
      }
    }
    const exec = callsOf(sandbox.exec, around)
    last = { sandbox: { ...sandbox, exec, inspect: signal => around(() => sandbox.inspect(signal)) }, idle }
    return last
  }

  function current(signal: AbortSignal): Promise<Opened> {
    if (opening) return opening
    const lost = () => {
      if (opening === mine) opening = null
    }
    const mine = opened(signal, lost)
    opening = mine
    mine.catch(lost)
    return mine
  }

  async function answering(signal: AbortSignal): Promise<Sandbox> {
    const known = opening
    const { sandbox, idle } = await current(signal)
    if (known === null || (await isThere(sandbox, signal))) return sandbox
    if (opening === known) opening = null // else another call has opened one since
    await idle.stop()
    return (await current(signal)).sandbox
  }

  async function end(how: (sandbox: Sandbox) => Promise<void>): Promise<void> {
    // One that was lost and not opened again may still run: only the way to it was lost.
    const open = (await opening?.catch(() => null)) ?? last
    opening = null
    last = null
    await open?.idle.stop()
    if (open) await how(open.sandbox)
  }

  return {
    id: spec.id,
    get sandbox() {
      return last?.sandbox ?? null
    },
    open: async signal => {
      const { exec, generation, workspace } = await answering(signal)
      return { exec, generation, workspace }
    },
    close: () => end(sandbox => sandbox.close()),
    detach: () => end(sandbox => sandbox.detach()),
  }
}

/** False where nobody answers any more, or somebody else: it died while nothing ran in it, or was started anew. */
async function isThere({ exec, generation }: Sandbox, signal: AbortSignal): Promise<boolean> {
  try {
    const health = await exec.health(signal)
    return health === null || health.instance === generation
  } catch (error) {
    if (isError(error, 'endpoint_lost', 'endpoint_unreachable')) return false
    throw error
  }
}

function callsOf(exec: ExecClient, around: Around): ExecClient {
  return {
    ...jobCallsOf(exec, around),
    endpoint: exec.endpoint,
    health: signal => around(() => exec.health(signal)),
    run: (command, signal) => around(() => exec.run(command, signal)),
    stream: (command, onChunk, signal) => around(() => exec.stream(command, onChunk, signal)),
    readFile: (path, signal, range) => around(() => exec.readFile(path, signal, range)),
    writeFile: (path, bytes, signal, options) => around(() => exec.writeFile(path, bytes, signal, options)),
    stat: (path, signal) => around(() => exec.stat(path, signal)),
    list: (path, signal, options) => around(() => exec.list(path, signal, options)),
    remove: (path, signal) => around(() => exec.remove(path, signal)),
    fenced: fence => callsOf(exec.fenced(fence), around),
    close: () => exec.close(),
  }
}

function jobCallsOf(exec: JobCalls, around: Around): JobCalls {
  return {
    hasJobs: signal => around(() => exec.hasJobs(signal)),
    startJob: (command, job, how, signal) => around(() => exec.startJob(command, job, how, signal)),
    followJob: (job, from, onChunk, signal) => around(() => exec.followJob(job, from, onChunk, signal)),
    readJob: (job, from, waitMs, onChunk, signal) =>
      around(() => exec.readJob(job, from, waitMs, onChunk, signal)),
    jobState: (job, signal) => around(() => exec.jobState(job, signal)),
    listJobs: (scope, signal) => around(() => exec.listJobs(scope, signal)),
    keepJob: (job, signal, notify) => around(() => exec.keepJob(job, signal, notify)),
    writeJobStdin: (job, bytes, signal, how) => around(() => exec.writeJobStdin(job, bytes, signal, how)),
    killJob: (job, signal) => around(() => exec.killJob(job, signal)),
    killScope: (scope, signal) => around(() => exec.killScope(scope, signal)),
  }
}
