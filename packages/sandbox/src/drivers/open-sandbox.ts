/**
 * The one way in which a sandbox on this machine is found or made, whatever keeps it: adopt what runs under the same spec and
 * answers on the same socket, else end what is ours and start anew. A driver brings a `Place`, which starts and ends things.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ExecHealth, isError } from '@beige/protocol'
import { createExecClient } from '../client/create-exec-client.ts'
import { fail } from '../errors.ts'
import type { ExecClient, ExecFence } from '../exec-client.ts'
import type { DriverName, Inspection, Sandbox, SandboxSpec } from '../sandbox.ts'
import { lockFolder } from './folder-lock.ts'
import { type InsideView, viewInside } from './inside-view.ts'
import { type PinnedSocket, pinSocket, sameSocket } from './pinned-socket.ts'
import type { Handle, RunFolder, State } from './run-folder.ts'
import type { User } from './workspace.ts'

const START_MS = 30_000 // until execd answers in a new sandbox
const ADOPT_MS = 5_000 // until the execd of a running one answers
const POLL_MS = 3 // nothing tells when a socket that exists is listened on
const CHECK_EVERY = 32 // polls between two looks at whether it still runs

/** What a driver knows of one sandbox. `end` touches nothing that does not carry our mark. */
export type Place = {
  driver: DriverName
  /** Where the workspace is seen from inside. */
  workspace: string
  user: User
  /** False where nothing is promised (the `host` driver), so nothing is checked. */
  hardened: boolean
  isRunning(handle: Handle, signal: AbortSignal): Promise<boolean>
  /** Calls `record` as soon as there is something to end, before anything in it can act. */
  start(record: (handle: Handle) => void, signal: AbortSignal): Promise<Handle>
  end(handle: Handle | null): Promise<void>
  /** Why it is not running: its last words. */
  lastWords(handle: Handle | null): Promise<string>
  /** Absent where its sandboxes never sleep. */
  pause?: { sleep(handle: Handle): Promise<void>; wake(handle: Handle): Promise<void> }
  inspect(handle: Handle, view: InsideView, signal: AbortSignal): Promise<Inspection>
}

type Attached = { handle: Handle; pinned: PinnedSocket; exec: ExecClient; health: ExecHealth }

export async function openSandbox(
  spec: SandboxSpec,
  digest: string,
  folder: RunFolder,
  place: Place,
  signal: AbortSignal,
): Promise<Sandbox> {
  if (signal.aborted) throw fail('aborted', { what: `opening the sandbox ${spec.id}` })
  using _lock = await lockFolder(spec.id, folder.path, signal)
  const state = folder.readState()
  const found = state ? await adopt(spec, state, digest, folder, place, signal) : null
  return sandboxOf(spec, place, found ?? (await make(spec, digest, folder, place, state, signal)))
}

async function adopt(
  spec: SandboxSpec,
  state: State,
  digest: string,
  folder: RunFolder,
  place: Place,
  signal: AbortSignal,
): Promise<Attached | null> {
  const isSame = state.digest === digest
  // One with another spec is ended, which a successor that works in it must be able to refuse.
  if (state.socket === null) return null
  if (isSame ? !(await place.isRunning(state.handle, signal)) : !spec.fence) return null
  const pinned = pinSocket(folder.exec)
  if (!pinned) return null
  if (sameSocket(pinned.identity, state.socket)) {
    await place.pause?.wake(state.handle)
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ADOPT_MS)])
    const attached = await attach(pinned, spec.fence, limit)
    if (isSame && attached?.health.instance === state.instance) return { ...attached, handle: state.handle }
    await attached?.exec.close()
  }
  pinned.release()
  if (signal.aborted) throw fail('aborted', { what: 'opening a sandbox' })
  return null
}

async function make(
  spec: SandboxSpec,
  digest: string,
  folder: RunFolder,
  place: Place,
  before: State | null,
  signal: AbortSignal,
): Promise<Attached> {
  await place.end(before?.handle ?? null)
  folder.renewExec(place.user)
  let handle: Handle | null = null
  const record = (next: Handle, pinned?: PinnedSocket, health?: ExecHealth) => {
    handle = next
    const socket = pinned?.identity ?? null
    folder.writeState({ version: 1, digest, socket, instance: health?.instance ?? null, handle: next })
  }
  let attached: Attached | null = null
  try {
    const started = await place.start(record, signal)
    attached = await waitForExecd(spec, folder, place, started, signal)
    if (place.hardened) await verify(spec, place, attached, signal)
    record(started, attached.pinned, attached.health)
    return attached
  } catch (error) {
    await attached?.exec.close()
    attached?.pinned.release()
    await place.end(handle)
    throw signal.aborted ? fail('aborted', { what: `opening the sandbox ${spec.id}` }, error) : error
  }
}

async function waitForExecd(
  spec: SandboxSpec,
  folder: RunFolder,
  place: Place,
  handle: Handle,
  signal: AbortSignal,
): Promise<Attached> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_MS)])
  for (let polls = 1; ; polls++) {
    const pinned = pinSocket(folder.exec)
    const attached = pinned ? await attach(pinned, spec.fence, limit) : null
    if (attached) return { ...attached, handle }
    pinned?.release()
    if (limit.aborted || (polls % CHECK_EVERY === 0 && !(await place.isRunning(handle, limit)))) {
      const reason = (await place.lastWords(handle)) || 'execd does not answer'
      throw fail('sandbox_start_failed', { id: spec.id, reason })
    }
    await sleep(POLL_MS)
  }
}

/** Null where nobody listens on the socket. */
async function attach(
  pinned: PinnedSocket,
  fence: ExecFence | undefined,
  signal: AbortSignal,
): Promise<Omit<Attached, 'handle'> | null> {
  const endpoint = { kind: 'unix', socketPath: pinned.path, basePath: '' } as const
  const owner = fence ? { fence } : {}
  const asking = createExecClient(endpoint, owner)
  try {
    const health = await asking.health(signal)
    // A client of its own that knows the answer: the asking one would ask again.
    return health && { pinned, exec: createExecClient(endpoint, { health, ...owner }), health }
  } catch (error) {
    if (isError(error, 'endpoint_unreachable', 'endpoint_lost', 'aborted')) return null
    pinned.release()
    throw error
  } finally {
    await asking.close()
  }
}

async function verify(
  spec: SandboxSpec,
  place: Place,
  attached: Attached,
  signal: AbortSignal,
): Promise<void> {
  const view = await viewInside(attached.exec, signal)
  const seen = await place.inspect(attached.handle, view, signal)
  const faults = [
    seen.uid !== place.user.uid && `commands run as uid ${seen.uid}, not ${place.user.uid}`,
    !/^0+$/.test(seen.capabilities) && `capabilities ${seen.capabilities}`,
    !seen.noNewPrivileges && 'new privileges can be gained',
    !seen.readOnlyRoot && 'the root file system can be written',
    spec.network === 'none' && seen.network !== 'none' && 'there is a network',
  ].filter(fault => fault !== false)
  if (faults.length > 0) throw fail('hardening_mismatch', { id: spec.id, what: faults.join('; ') })
}

/** Whether a command runs in a sandbox whose process 1 is execd: jobs too, whoever began them, and what they left. */
async function isBusy(exec: ExecClient): Promise<boolean> {
  const { entries } = await exec.list('/proc', AbortSignal.timeout(ADOPT_MS))
  return entries.some(({ path }) => /^\d+$/.test(path) && path !== '1')
}

/** Rejects with `taken_over` alone: one that does not answer can be ended. */
async function refuseTakenOver(exec: ExecClient, place: Place, handle: Handle): Promise<void> {
  try {
    await place.pause?.wake(handle)
    await exec.health(AbortSignal.timeout(ADOPT_MS))
  } catch (error) {
    if (isError(error, 'taken_over')) throw error
  }
}

function sandboxOf(spec: SandboxSpec, place: Place, attached: Attached): Sandbox {
  const { exec, health, pinned, handle } = attached
  const letGo = async () => {
    await exec.close()
    pinned.release()
  }
  return {
    driver: place.driver,
    exec,
    generation: health.instance,
    workspace: place.workspace,
    async sleep() {
      if (!place.pause) return 'never'
      if (await isBusy(exec)) return 'busy'
      await place.pause.sleep(handle)
      return 'asleep'
    },
    wake: async () => place.pause?.wake(handle),
    inspect: async signal => place.inspect(handle, await viewInside(exec, signal), signal),
    detach: letGo,
    async close() {
      try {
        if (spec.fence) await refuseTakenOver(exec, place, handle)
      } finally {
        await letGo()
      }
      await place.end(handle)
      if (await place.isRunning(handle, AbortSignal.timeout(ADOPT_MS))) {
        throw fail('sandbox_start_failed', { id: spec.id, reason: 'it could not be ended' })
      }
    },
  }
}
