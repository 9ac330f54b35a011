/**
 * Calls a plugin's tools in a test without a gateway: no process, no socket, the same handler and the same call.
 *
 * @example
 * const kit = openTestKit(createPlugin, { dataDir })
 * const answer = await kit.call('kv', ['get', 'colour'])
 */
import { fail } from './errors.ts'
import type { CreatePlugin, OutputStream, ToolHandler, ToolOutcome } from './plugin.ts'

export type TestAnswer = { exitCode: number; stdout: Buffer; stderr: Buffer; data: unknown }
export type TestCallOptions = {
  agent?: string
  config?: Record<string, unknown>
  stdin?: string | Uint8Array
  signal?: AbortSignal
}

export function openTestKit(
  createPlugin: CreatePlugin,
  options: { dataDir: string; config?: Record<string, unknown> },
) {
  const config = options.config ?? {}
  const log = () => undefined
  const plugin = createPlugin(config, { dataDir: options.dataDir, agentNames: ['test'], log })
  const handlers = new Map<string, ToolHandler>()
  plugin.register({ tool: tool => handlers.set(tool.name, tool.handler) })

  return {
    tools: [...handlers.keys()],
    start: async () => plugin.start?.(),
    stop: async () => plugin.stop?.(),
    async call(
      tool: string,
      args: readonly (string | Uint8Array)[],
      call: TestCallOptions = {},
    ): Promise<TestAnswer> {
      const handler = handlers.get(tool)
      if (!handler) throw fail('unknown_tool', { tool })
      const argv = args.map(bytesOf)
      const [stdout, stderr] = [collector(), collector()]
      const outcome: ToolOutcome = await handler(
        argv.map(arg => new TextDecoder().decode(arg)),
        {
          agent: call.agent ?? 'test',
          session: null,
          cwd: null,
          argv,
          config: { ...config, ...call.config },
          stdin: oneChunk(bytesOf(call.stdin ?? '')),
          stdout,
          stderr,
          signal: call.signal ?? new AbortController().signal,
          log,
        },
      )
      if (outcome.output !== undefined) await stdout.write(outcome.output)
      if (outcome.error !== undefined) await stderr.write(outcome.error)
      return { exitCode: outcome.exitCode, stdout: stdout.all(), stderr: stderr.all(), data: outcome.data }
    },
  }
}

function collector(): OutputStream & { all(): Buffer } {
  const parts: Uint8Array[] = []
  return { write: async bytes => void parts.push(bytesOf(bytes)), all: () => Buffer.concat(parts) }
}

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

function bytesOf(bytes: string | Uint8Array): Uint8Array {
  return typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes
}
