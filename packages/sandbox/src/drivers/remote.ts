/** A sandbox that somebody else runs: an exec endpoint by its URL. What bounds it is whatever stands there. */
import { createExecClient } from '../client/create-exec-client.ts'
import type { Sandbox, SandboxDriver } from '../sandbox.ts'
import { viewInside } from './inside-view.ts'

export type RemoteOptions = {
  url: string
  headers?: Readonly<Record<string, string>>
  /** Where its workspace lies; `/workspace` when absent. */
  workspace?: string
}

const NO_INSTANCE = 'unknown' // of an endpoint without /health: it can not say whether it was started anew

export function remoteDriver(options: RemoteOptions): SandboxDriver {
  const { url, headers = {}, workspace = '/workspace' } = options
  const endpoint = { kind: 'url', url, headers } as const
  return {
    name: 'remote',
    unavailable: async () => null,
    async open(_spec, signal): Promise<Sandbox> {
      const asking = createExecClient(endpoint)
      const health = await asking.health(signal).finally(() => asking.close())
      const exec = createExecClient(endpoint, { health })
      const place = health ? `${hostOf(url)}, execd ${health.version}` : `${hostOf(url)}, base requests only`
      return {
        driver: 'remote',
        exec,
        generation: health?.instance ?? NO_INSTANCE,
        workspace,
        sleep: async () => undefined,
        wake: async () => undefined,
        async inspect(either) {
          const { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot } = await viewInside(
            exec,
            either,
          )
          const limits = { memoryBytes: null, pids: null, cpus: null, by: 'none' } as const
          const seen = { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot }
          return { driver: 'remote', place, ...seen, network: 'unknown', limits }
        },
        detach: () => exec.close(),
        // It is not ours to end: its owner ends it, and what we started there has ended with the client.
        close: () => exec.close(),
      }
    },
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}
