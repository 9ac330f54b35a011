/** Where execd runs for the kit, each way with its name, why it may be absent, and how to open it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '@beige/protocol'
import {
  type ConformanceOptions,
  DEFAULT_LIMITS,
  type DriverName,
  findExecd,
  openDriver,
  type SandboxSpec,
} from '@beige/sandbox'
import { findBusybox } from './busybox.ts'
import { engineAbsent, openContainer } from './container.ts'
import { openTcp, openUnix } from './process.ts'

/** That each target reaches at the least. */
export const LEAST_PASSED = 40
const DRIVER_MS = 60_000

export type Opened = { options: ConformanceOptions } & AsyncDisposable
export type Target = {
  name: string
  /** The engine that is absent, and why; null when it can be opened. */
  absent(how: { mayDownload: boolean }): Promise<string | null>
  open(signal: AbortSignal): Promise<Opened>
}

export const targets: readonly Target[] = [
  { name: 'execd by TCP, with a token', absent: async () => execdAbsent(), open: openTcp },
  { name: 'execd by Unix socket', absent: async () => execdAbsent(), open: openUnix },
  driverTarget('execd in Docker', 'docker'),
  driverTarget('execd in bubblewrap', 'bubblewrap'),
  imageTarget('execd in a bare busybox image', true),
  imageTarget('execd FROM scratch', false),
]

function execdAbsent(): string | null {
  try {
    findExecd()
    return null
  } catch (error) {
    return `execd (${messageOf(error)})`
  }
}

function driverTarget(name: string, kind: Extract<DriverName, 'docker' | 'bubblewrap'>): Target {
  return {
    name,
    async absent() {
      const fault = await openDriver({ kind }).unavailable(AbortSignal.timeout(DRIVER_MS))
      return execdAbsent() ?? (fault && `${kind} (${fault.reason})`)
    },
    async open(signal) {
      const folder = await mkdtemp(join(tmpdir(), 'beige-conformance-'))
      const spec: SandboxSpec = {
        ...{
          id: folder
            .slice(-24)
            .toLowerCase()
            .replace(/[^a-z0-9]/g, ''),
          labels: {},
          mounts: [],
          env: {},
        },
        ...{ network: 'none', image: 'host-usr', limits: DEFAULT_LIMITS },
        ...{ workspaceDir: join(folder, 'workspace'), runDir: join(folder, 'run') },
      }
      const sandbox = await openDriver({ kind }).open(spec, signal)
      return {
        // A sandbox has no network, and so no way to tell the end of a job to somebody outside.
        options: { endpoint: sandbox.exec.endpoint, notify: 'unreachable' },
        async [Symbol.asyncDispose]() {
          await sandbox.close()
          await rm(folder, { recursive: true, force: true })
        },
      }
    },
  }
}

function imageTarget(name: string, hasBusybox: boolean): Target {
  return {
    name,
    async absent(how) {
      if (execdAbsent() !== null) return execdAbsent()
      return (await engineAbsent()) ?? ((await findBusybox(how)) ? null : NO_BUSYBOX)
    },
    open: async signal => await openContainer(hasBusybox, signal),
  }
}
const NO_BUSYBOX = 'busybox (no static one: apt-get install busybox-static, or BEIGE_BUSYBOX=<file>)'
