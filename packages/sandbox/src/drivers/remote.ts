/** A sandbox that somebody else runs: an exec endpoint by its URL or socket. What bounds it is whatever stands there. */
import { createExecClient } from '../client/create-exec-client.ts'
import { endpointOf } from '../client/endpoint-of.ts'
import type { ExecClient } from '../exec-client.ts'
import type { Sandbox, SandboxDriver } from '../sandbox.ts'
import { INSIDE_WORKSPACE } from './inside-env.ts'
import { viewInside } from './inside-view.ts'

export type RemoteOptions = {
  /** An http or https URL, or `unix:/path`. */
  url: string
  headers?: Readonly<Record<string, string>>
  /** Where its workspace lies; where its commands start when absent. */
  workspace?: string
}

const PWD_MS = 10_000
/** `generation` of an endpoint without /health: it can not say whether it was started anew. */
export const NO_INSTANCE = 'unknown'

export function remoteDriver(options: RemoteOptions): SandboxDriver {
  const { url, headers = {} } = options
  return {
    name: 'remote',
    unavailable: async () => null,
    async open({ fence }, signal): Promise<Sandbox> {
      const endpoint = endpointOf(url, headers)
      const owner = fence ? { fence } : {}
      const asking = createExecClient(endpoint, owner)
      const health = await asking.health(signal).finally(() => asking.close())
      const exec = createExecClient(endpoint, { health, ...owner })
      const workspace = options.workspace ?? (await startFolder(exec, signal))
      const place = health ? `${hostOf(url)}, execd ${health.version}` : `${hostOf(url)}, base requests only`
      return {
        driver: 'remote',
        exec,
        generation: health?.instance ?? NO_INSTANCE,
        workspace,
        sleep: async () => 'never',
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

/** The endpoint's own root, `EXECD_ROOT` of execd: only its owner knows where there is something to work on. */
async function startFolder(exec: ExecClient, signal: AbortSignal): Promise<string> {
  try {
    const { exitCode, stdout } = await exec.run({ command: 'pwd', timeout_ms: PWD_MS }, signal)
    const path = Buffer.from(stdout).toString('utf8').replace(/\n$/, '')
    return exitCode === 0 && path.startsWith('/') ? path : INSIDE_WORKSPACE
  } catch (error) {
    await exec.close()
    throw error
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) && !url.startsWith('unix:') ? new URL(url).host : url
}
