/**
 * From the tool socket into the one pipeline. The agent is the socket that the call came in by, the session is the token's;
 * a request has a tool, arguments and a cwd of the sandbox, and nothing else of it is looked at (H65).
 */
import type { CallStreams, Hands, Pipeline, ToolResult } from '@beige/harness'
import {
  type CallId,
  type Clock,
  messageOf,
  newCallId,
  type Random,
  type ToolExit,
  type ToolRequest,
} from '@beige/protocol'
import type { FoundCall } from './call-tokens.ts'

export type LauncherParts = {
  agent: string
  pipeline: Pipeline
  hands: Hands
  clock: Clock
  random: Random
  /** Absolute folder inside the sandbox. */
  workdir: string
  calls: LauncherRegistry
}

/** What the audit asks about a launcher's call while it runs. */
export interface LauncherRegistry {
  add(callId: CallId, call: RunningLauncher): void
  remove(callId: CallId): void
}
export type RunningLauncher = {
  from: FoundCall | null
  /** Told when policy has allowed the call and its start is on disk. */
  onStarted: () => void
  outputBytes: number
}

export type LauncherCall = {
  request: Pick<ToolRequest, 'tool' | 'args' | 'args_b64' | 'cwd'>
  /** Null: the session-less `socket:<agent>`. */
  from: FoundCall | null
  streams: CallStreams
  signal: AbortSignal
  onStarted(callId: CallId): void
}

/** Runs one call to its end; never rejects. */
export async function runLauncherCall(parts: LauncherParts, call: LauncherCall): Promise<ToolExit> {
  const { request, from, streams, signal } = call
  const callId = newCallId(parts.clock, parts.random)
  const running: RunningLauncher = { from, onStarted: () => call.onStarted(callId), outputBytes: 0 }
  parts.calls.add(callId, running)
  const counted = (write: (bytes: Uint8Array) => Promise<void>) => async (bytes: Uint8Array) => {
    running.outputBytes += bytes.length
    await write(bytes)
  }
  try {
    const { tool, args, args_b64, cwd } = request
    const result = await parts.pipeline.runCall(
      {
        callId,
        name: tool,
        input: {
          ...(args_b64 === undefined ? { args: args ?? [] } : { args_b64 }),
          ...(cwd === undefined ? {} : { cwd }),
        },
        origin: 'launcher',
        ...(from === null ? {} : { parent: from.callId }),
        streams: {
          stdin: streams.stdin,
          stdout: counted(bytes => streams.stdout(bytes)),
          stderr: counted(bytes => streams.stderr(bytes)),
        },
      },
      {
        sessionId: from?.session ?? null,
        hands: parts.hands,
        cwd: parts.workdir,
        signal,
        env: {},
        seenFiles: new Map(),
        journal: null,
        progress: () => undefined,
      },
    )
    return exitOf(result)
  } catch (error) {
    // The pipeline throws where something could not be written down; then the call did not run.
    return ended(1, { code: 'internal', message: messageOf(error) })
  } finally {
    parts.calls.remove(callId)
  }
}

const EXIT_CODES: Readonly<Record<string, number>> = {
  denied: 1,
  unknown_tool: 127,
  invalid_input: 2,
  timeout: 124,
  interrupted: 130,
}

/** What a launcher exits with, and the refusal that it prints. */
export function exitOf(result: ToolResult): ToolExit {
  const { code, exit_code: exitCode, data, timed_out: timedOut } = result.details
  if (typeof code !== 'string')
    return { ...ended(typeof exitCode === 'number' ? exitCode : 1), ...(data === undefined ? {} : { data }) }
  const message = result.content.map(block => (block.type === 'text' ? block.text : '')).join('')
  return { ...ended(EXIT_CODES[code] ?? 1, { code, message }), timed_out: timedOut === true }
}

function ended(exitCode: number, error?: { code: string; message: string }): ToolExit {
  return {
    exit_code: exitCode,
    signal: null,
    timed_out: false,
    truncated: false,
    ...(error === undefined ? {} : { error }),
  }
}
