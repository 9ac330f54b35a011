/** A place for an agent's hands. Nothing above this package knows which driver made it. */
import type { ExecClient, ExecFence } from './exec-client.ts'

export type DriverName = 'docker' | 'bubblewrap' | 'remote' | 'host'

/** A host folder shown inside. Structured, so a `:` in a path means nothing (H70). */
export type Mount = { host: string; inside: string; writable: boolean }

/** What must be true of a sandbox. Two specs that differ make two sandboxes. */
export type SandboxSpec = {
  /** `[a-z0-9][a-z0-9-]{0,62}`; names the container, the run folder and the labels. */
  id: string
  /** Labels beside our own, e.g. `beige.agent`. */
  labels: Readonly<Record<string, string>>
  /** Shown at `/workspace`, the only place that lasts. Commands run as its owner, never as root. */
  workspaceDir: string
  /** Instead of the workspace's owner. Never 0. */
  user?: { uid: number; gid: number }
  /** Owner-only folder for what the driver keeps on the host (spec, exec socket folder). Made when missing. */
  runDir: string
  /** Folder with `gateway.sock`, shown read-only at `/beige/sock`; absent: no tool calls from inside. */
  socketsDir?: string
  /** Folder of launcher links, shown read-only at `/tools/bin`. */
  launchersDir?: string
  mounts: readonly Mount[]
  env: Readonly<Record<string, string>>
  network: 'none' | 'open'
  limits: { memoryBytes: number; cpus: number; pids: number; tmpBytes: number; files: number }
  /**
   * Docker: an image name or digest, or `host-usr` for an empty image with this machine's `/usr`, which needs no build.
   * Absent: our own image where it is built, else `host-usr`; `Inspection.place` says which.
   */
  image?: string
  /**
   * Where it belongs to one session: the owner who opens it. An owner whose successor has spoken can not use it, make it
   * anew or end it. Another owner finds the same sandbox.
   */
  fence?: ExecFence
}

export const DEFAULT_LIMITS: SandboxSpec['limits'] = {
  memoryBytes: 3 * 1024 ** 3,
  cpus: 2,
  pids: 512,
  tmpBytes: 512 * 1024 ** 2,
  files: 4096,
}

/** What is really in force, read back from the engine or the kernel, not from the spec. */
export type Inspection = {
  driver: DriverName
  /** For people: `docker 20.10.24, container beige-scout, image beige-sandbox:host-usr (not built, this machine's /usr)`. */
  place: string
  uid: number
  gid: number
  capabilities: string
  noNewPrivileges: boolean
  seccomp: boolean
  readOnlyRoot: boolean
  network: 'none' | 'open' | 'unknown'
  limits: {
    memoryBytes: number | null
    pids: number | null
    cpus: number | null
    by: 'cgroup' | 'prlimit' | 'engine' | 'none'
  }
}

/** `never`: this driver's sandboxes do not sleep, since an idle one costs next to nothing or is not ours to stop. */
export type SleepResult = 'asleep' | 'busy' | 'never'

export interface Sandbox {
  readonly driver: DriverName
  readonly exec: ExecClient
  /** The `instance` of its execd; another one means that processes and `/tmp` are not those you knew. */
  readonly generation: string
  /** Where the workspace is seen from inside: `/workspace`, or the real path on the `host` driver. */
  readonly workspace: string
  /** Stops it where it stands, unless something runs in it. Nothing in it answers until `wake`; opening it wakes it too. */
  sleep(): Promise<SleepResult>
  /** Nothing where it is awake. */
  wake(): Promise<void>
  inspect(signal: AbortSignal): Promise<Inspection>
  /** Lets go of it without ending it: a later `open` with the same spec finds it and its jobs. */
  detach(): Promise<void>
  /** Ends it and everything in it. Rejects with `taken_over` where the successor of `spec.fence` works in it. */
  close(): Promise<void>
}

export interface SandboxDriver {
  readonly name: DriverName
  /** Null when it can work on this machine, else why not and what to install. Cheap: at most one probe. */
  unavailable(signal: AbortSignal): Promise<{ reason: string; advice: string } | null>
  /** Finds or makes; idempotent by `spec.id`; makes anew what died or has another spec. */
  open(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox>
}
