/** `agent acp`: our sessions for editors, over the Agent Client Protocol on stdin and stdout. */

import { isAbsolute } from 'node:path'
import { ReadableStream, WritableStream } from 'node:stream/web'
import { agent, ndJsonStream, PROTOCOL_VERSION, RequestError } from '@agentclientprotocol/sdk'
import { explain, isSessionId, newSessionId } from '@beige/protocol'
import { type AgentHost, openAgentHost } from '../agent-session.ts'
import { WORKSPACE } from '../hands.ts'
import { agentOptions, type RawOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { type RawServeOptions, serveOptions } from '../serve/serve-options.ts'
import { stopSignals } from '../stop-signals.ts'
import { VERSION } from '../version.ts'
import { type AcpSession, openAcpSession } from './acp-session.ts'
import { workspaceOf } from './prompt-blocks.ts'

const LIST_PAGE = 50

/** Answers the exit code. Ends with stdin, after the runs in flight were aborted and recorded. */
export async function acpCommand(raw: RawOptions & RawServeOptions, world: ProcessWorld): Promise<number> {
  const options = agentOptions(raw, world)
  const { approve } = serveOptions(raw, options, world)
  const stop = stopSignals(world)
  const hosts = new Map<string, Promise<AgentHost>>()
  const sessions = new Map<string, AcpSession>()
  let terminals = false

  // Sessions of one folder share a host; each editor window has its own folder.
  const hostOf = (cwd: string): Promise<AgentHost> => {
    if (!isAbsolute(cwd)) throw RequestError.invalidParams(undefined, `cwd must be an absolute path: ${cwd}`)
    const there =
      hosts.get(cwd) ?? openAgentHost({ options, world: { ...world, cwd }, openRun: () => 'resume', approve })
    hosts.set(cwd, there)
    there.catch(() => hosts.delete(cwd))
    return there
  }
  const sessionOf = (id: string): AcpSession => {
    const session = sessions.get(id)
    if (!session) throw RequestError.resourceNotFound(id)
    return session
  }
  const open = async (
    cwd: string,
    id: string | null,
    client: Parameters<typeof openAcpSession>[0]['client'],
    showsHistory = false,
  ) => {
    try {
      const host = await hostOf(cwd)
      const sessionId = id ?? newSessionId(world.clock, world.random)
      if (!isSessionId(sessionId)) throw RequestError.resourceNotFound(sessionId)
      sessions.get(sessionId)?.close()
      const workspace = workspaceOf(cwd, options.sandbox.kind === 'host' ? cwd : WORKSPACE)
      const fresh = id === null ? host.fresh() : null
      const parts = { host: host.host, id: sessionId, fresh, client, workspace, terminals, showsHistory }
      sessions.set(sessionId, await openAcpSession(parts))
      return sessionId
    } catch (error) {
      throw error instanceof RequestError ? error : RequestError.internalError(undefined, explain(error))
    }
  }

  const app = agent({ name: 'beige' })
    .onRequest('initialize', ({ params }) => {
      terminals = params.clientCapabilities?._meta?.terminal_output === true
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'beige', title: 'Beige', version: VERSION },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
        authMethods: [],
      }
    })
    .onRequest('session/new', async ({ params, client }) => {
      if (params.mcpServers.length > 0)
        world.stderr.write(`warning: ${params.mcpServers.length} MCP servers of the editor are not used\n`)
      return { sessionId: await open(params.cwd, null, client) }
    })
    .onRequest('session/load', async ({ params, client }) => {
      await open(params.cwd, params.sessionId, client, true)
      return {}
    })
    .onRequest('session/resume', async ({ params, client }) => {
      await open(params.cwd, params.sessionId, client)
      return {}
    })
    .onRequest('session/list', async ({ params }) => {
      const { host } = await hostOf(params.cwd ?? world.cwd)
      const offset = Number(params.cursor ?? 0)
      const page = await host.store.list({
        offset,
        limit: LIST_PAGE,
        ...(params.cwd ? { cwd: params.cwd } : {}),
      })
      return {
        sessions: page.rows.map(row => ({
          sessionId: row.id,
          cwd: row.cwd,
          title: row.title,
          updatedAt: new Date(row.updatedAt).toISOString(),
        })),
        ...(offset + page.rows.length < page.total ? { nextCursor: String(offset + LIST_PAGE) } : {}),
      }
    })
    .onRequest('session/close', ({ params }) => {
      sessionOf(params.sessionId).close()
      sessions.delete(params.sessionId)
    })
    .onRequest('session/prompt', ({ params }) => sessionOf(params.sessionId).prompt(params))
    .onNotification('session/cancel', ({ params }) => sessions.get(params.sessionId)?.cancel())

  const connection = app.connect(ndJsonStream(outputOf(world), ReadableStream.from(bytesOf(world))))
  stop.signal.addEventListener('abort', () => connection.close(), { once: true })
  try {
    await connection.closed
    return stop.stopped()?.exitCode ?? 0
  } finally {
    const reason = new DOMException('the editor has gone', 'AbortError')
    for (const opened of await Promise.allSettled(hosts.values()))
      if (opened.status === 'fulfilled') await opened.value.close(reason)
    stop.dispose()
  }
}

// Each message is taken by the pipe before the next one is written.
function outputOf({ stdout }: ProcessWorld): WritableStream<Uint8Array> {
  return new WritableStream({
    write: chunk =>
      new Promise((resolve, reject) => {
        stdout.write(chunk, error => (error ? reject(error) : resolve()))
      }),
  })
}

async function* bytesOf({ stdin }: ProcessWorld): AsyncGenerator<Uint8Array> {
  for await (const chunk of stdin) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}
