/** A real execd, the real exec client and the tools on top: what the tests of the tools call. */
import { type CallId, newCallId, systemClock, systemRandom } from '@beige/protocol'
import { createExecClient, type ExecClient } from '@beige/sandbox'
import { startExecd } from '@beige/test-support'
import type { ToolContext, ToolResult } from '../src/tool.ts'
import { toolset } from '../src/tools/index.ts'

/** The files API, or small commands in its place as for an endpoint that has none. */
export const FILE_ROUTES = ['files API', 'commands'] as const
export type FileRoute = (typeof FILE_ROUTES)[number]

export type ToolBench = {
  root: string
  exec: ExecClient
  seenFiles: Map<string, string>
  /** Snapshots that the tools told while they ran. */
  progress: string[]
  kill(): void
  call(name: string, input: unknown, changes?: Partial<ToolContext>): Promise<ToolResult>
}

export async function withTools(
  route: FileRoute,
  use: (bench: ToolBench) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  await using execd = await startExecd(env)
  const endpoint = { kind: 'unix', socketPath: execd.socketPath, basePath: '' } as const
  const asking = createExecClient(endpoint)
  const health = await asking.health(AbortSignal.timeout(10_000))
  await asking.close()
  if (!health) throw new Error('execd has no /health')
  const features = health.features.filter(feature => route === 'files API' || feature !== 'files')
  const exec = createExecClient(endpoint, { health: { ...health, features } })
  const tools = new Map([...toolset('coding'), ...toolset('core')].map(tool => [tool.name, tool]))
  const seenFiles = new Map<string, string>()
  const progress: string[] = []
  const context = (callId: CallId): ToolContext => ({
    callId,
    sessionId: null,
    hands: {
      id: 'test',
      open: async () => ({ exec, generation: health.instance, workspace: execd.root }),
    },
    cwd: execd.root,
    signal: AbortSignal.timeout(60_000),
    clock: systemClock,
    env: {},
    seenFiles,
    begins: async () => {},
    progress: snapshot => progress.push(snapshot()),
  })
  try {
    await use({
      root: execd.root,
      exec,
      seenFiles,
      progress,
      kill: execd.kill,
      async call(tool, input, changes = {}) {
        const found = tools.get(tool)
        if (!found) throw new Error(`no tool ${tool}`)
        return await found.run(input, { ...context(newCallId(systemClock, systemRandom)), ...changes })
      },
    })
  } finally {
    await exec.close()
  }
}

export function textOf(result: ToolResult): string {
  return result.content
    .map(block => (block.type === 'text' ? block.text : `<${block.media_type}>`))
    .join('\n')
}

export const codeOf = (result: ToolResult): unknown => (result.isError ? result.details.code : null)
