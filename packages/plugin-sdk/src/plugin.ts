/**
 * What a plugin author writes against. A plugin is a module that exports `createPlugin`; it runs in a process of its
 * own, with an empty environment and only its folder and its `dataDir` on disk.
 *
 * @example
 * export const createPlugin: CreatePlugin = () => ({
 *   register(reg) {
 *     reg.tool({ name: 'hello', description: 'Greets', handler: async args => ({ output: `hi ${args[0]}\n`, exitCode: 0 }) })
 *   },
 * })
 */

/** How a call ended. `output` goes to stdout, `error` to stderr, after what was already streamed. */
export type ToolOutcome = {
  exitCode: number
  output?: string | Uint8Array
  error?: string | Uint8Array
  /** For programs; JSON, at most 48 KiB. */
  data?: unknown
}

export interface OutputStream {
  /** Resolves when the reader has room again: await it, and memory stays bounded. */
  write(bytes: string | Uint8Array): Promise<void>
}

/** One call of a tool. Identity comes from the gateway's side of a socket, never from what the caller sent. */
export interface PluginCall {
  readonly agent: string
  /** Null for a caller that named no session. */
  readonly session: string | null
  /** A path inside the sandbox, or null. It means nothing on this side. */
  readonly cwd: string | null
  /** The arguments byte for byte; `args` of the handler are the same, decoded as UTF-8. */
  readonly argv: readonly Uint8Array[]
  /** The plugin's configuration merged with this agent's. */
  readonly config: Readonly<Record<string, unknown>>
  /** What the caller sends; ends when the caller closes it. Not read: the caller is held back. */
  readonly stdin: AsyncIterable<Uint8Array>
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Aborted when the caller cancelled, went away, or the call ran out of time. */
  readonly signal: AbortSignal
  log(text: string): void
}

export type ToolHandler = (args: readonly string[], call: PluginCall) => Promise<ToolOutcome>

export type ToolRegistration = { name: string; description: string; handler: ToolHandler }

export interface Registrar {
  /** Every tool of the manifest, and no other, is registered; twice is an error. */
  tool(registration: ToolRegistration): void
}

export interface PluginContext {
  /** The plugin's own folder for what it keeps. Nothing else on disk can be written. */
  readonly dataDir: string
  /** Names of the configured agents. */
  readonly agentNames: readonly string[]
  log(text: string): void
}

export interface Plugin {
  /** Says what it offers. No effects here: it also runs when a configuration is only checked. */
  register(reg: Registrar): void
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** `config` is the base one; read in a handler it throws, so that an agent's own (`call.config`) is never missed. */
export type CreatePlugin = (config: Readonly<Record<string, unknown>>, context: PluginContext) => Plugin
