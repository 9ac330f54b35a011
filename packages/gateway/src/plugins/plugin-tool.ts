/** A plugin's tool as the pipeline sees it: one for each agent, with that agent's configuration. */
import {
  type CallStreams,
  errorResult,
  interrupted,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '@beige/harness'
import type { ToolEntry } from '@beige/plugin-sdk'
import { isError, MAX_ARGS } from '@beige/protocol'
import { arr, obj, opt, str } from '@earendil-works/pi-schema'
import type { PluginSupervisor } from './plugin-supervisor.ts'

export const DEFAULT_CALL_TIMEOUT_MS = 900_000
const MAX_COLLECTED_BYTES = 51_200 // of a call without streams

/** argv as text, or all of it as base64 where one argument is not UTF-8; `cwd` is a path of the sandbox. */
export const pluginToolInput = obj({
  args: opt(arr(str(), { maxItems: MAX_ARGS })),
  args_b64: opt(arr(str(), { maxItems: MAX_ARGS })),
  cwd: opt(str({ maxLength: 4096 })),
})

export function pluginTool(
  entry: ToolEntry,
  supervisor: PluginSupervisor,
  agent: { name: string; config: Readonly<Record<string, unknown>> },
): Tool {
  const timeoutMs = entry.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS
  return {
    name: entry.name,
    description: entry.description,
    inputSchema: pluginToolInput,
    idempotent: false,
    mode: 'shared',
    async run(input, context) {
      const collector = context.streams === undefined ? collect() : null
      const deadline = new AbortController()
      const signal = AbortSignal.any([context.signal, deadline.signal])
      const over = new AbortController()
      context.clock.sleep(timeoutMs, over.signal).then(
        () => deadline.abort(),
        () => undefined,
      )
      try {
        const { exitCode, data, outputBytes } = await supervisor.run(
          requestOf(input, entry.name, agent, context),
          context.streams ?? collector?.streams ?? NO_STREAMS,
          signal,
        )
        if (context.signal.aborted) return interrupted()
        if (deadline.signal.aborted) return timedOut(entry.name, timeoutMs)
        return {
          content: collector === null ? [] : [{ type: 'text', text: collector.text() }],
          isError: exitCode !== 0,
          outcome: 'done',
          details: {
            exit_code: exitCode,
            output_bytes: outputBytes,
            ...(data === undefined ? {} : { data }),
          },
        }
      } catch (error) {
        if (context.signal.aborted) return interrupted()
        if (deadline.signal.aborted) return timedOut(entry.name, timeoutMs)
        if (!isError(error, 'plugin_failed', 'plugin_protocol')) throw error
        return errorResult('endpoint', `${error.message}. ${error.advice}`, { exit_code: 1 })
      } finally {
        over.abort()
      }
    },
  }
}

function timedOut(tool: string, timeoutMs: number): ToolResult {
  return errorResult('timeout', `${tool} was ended after ${timeoutMs} ms`, { timed_out: true })
}

function requestOf(
  input: unknown,
  tool: string,
  agent: { name: string; config: Readonly<Record<string, unknown>> },
  context: ToolContext,
) {
  return {
    tool,
    argv: argvOf(input),
    cwd: fieldOf(input, 'cwd') === undefined ? null : String(fieldOf(input, 'cwd')),
    agent: agent.name,
    session: context.sessionId,
    config: { ...agent.config },
  }
}

function argvOf(input: unknown): Uint8Array[] {
  const encoded = fieldOf(input, 'args_b64')
  if (Array.isArray(encoded)) return encoded.map(arg => Buffer.from(String(arg), 'base64'))
  const args = fieldOf(input, 'args')
  return Array.isArray(args) ? args.map(arg => Buffer.from(String(arg))) : []
}

function fieldOf(input: unknown, name: string): unknown {
  return typeof input === 'object' && input !== null
    ? Object.getOwnPropertyDescriptor(input, name)?.value
    : undefined
}

async function* nothing(): AsyncIterable<Uint8Array> {}
const NO_STREAMS: CallStreams = {
  stdin: nothing(),
  stdout: async () => undefined,
  stderr: async () => undefined,
}

/** Both streams in order of arrival, the head of them, for a caller that reads text. */
function collect(): { streams: CallStreams; text(): string } {
  const parts: Uint8Array[] = []
  let held = 0
  let total = 0
  const take = async (bytes: Uint8Array) => {
    total += bytes.length
    const part = bytes.subarray(0, Math.max(0, MAX_COLLECTED_BYTES - held))
    held += part.length
    parts.push(part)
  }
  return {
    streams: { stdin: nothing(), stdout: take, stderr: take },
    text: () =>
      Buffer.concat(parts).toString('utf8') +
      (total > held ? `\n[${total - held} more bytes are not shown]` : ''),
  }
}
