/** `agent serve`: sessions over stdin and stdout, or over listeners that share one host. */
import { createExecNotify, keepInLog } from '@beige/host'
import { CLOSE, messageOf } from '@beige/protocol'
import { openAgentHost } from '../agent-session.ts'
import { notifyKey } from '../notify.ts'
import { type AgentOptions, agentOptions, type RawOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { stopSignals } from '../stop-signals.ts'
import { createGuard } from './guard.ts'
import { createHttpSurface } from './http-surface.ts'
import { openListeners } from './listeners.ts'
import { runsEnded, within } from './run-ends.ts'
import { type RawServeOptions, type ServeOptions, serveOptions } from './serve-options.ts'
import type { Serving } from './serving.ts'
import { serveStdio } from './stdio.ts'
import { openTokens } from './tokens.ts'
import { createOpenViewers } from './viewers.ts'

const STOP_MS = 10_000 // for all sessions to be released

/** Answers the exit code. */
export async function serveCommand(raw: RawOptions & RawServeOptions, world: ProcessWorld): Promise<number> {
  const options = agentOptions(raw, world)
  const serve = serveOptions(raw, options, world)
  return serve.listeners.length === 0 ? serveStdio(options, serve, world) : listen(options, serve, world)
}

async function listen(options: AgentOptions, serve: ServeOptions, world: ProcessWorld): Promise<number> {
  const { clock, random } = world
  const warn = (text: string) => void world.stderr.write(`warning: ${text}\n`)
  const hasTcp = serve.listeners.some(one => one.kind !== 'unix')
  const tokens = hasTcp ? openTokens(serve.tokenFile, random, warn) : null
  const stop = stopSignals(world, { hangUp: () => listeners?.reloadTls() })
  let listeners: Awaited<ReturnType<typeof openListeners>> | null = null
  const agent = await openAgentHost({
    ...{ options, world, openRun: () => 'resume' },
    idleReleaseMs: serve.idleReleaseMs,
    approve: serve.approve,
    ...(serve.lifecycle ? { lifecycle: serve.lifecycle } : {}),
  })
  const viewers = createOpenViewers(clock, tokens, () => listeners?.reloadTls())
  let isStopping = false
  const serving: Serving = {
    host: agent.host,
    fresh: agent.fresh,
    guard: createGuard({
      ...{
        hosts: [...serve.allowHosts, ...hostOf(options.notifyOrigin)],
        origins: serve.allowOrigins,
        requireToken: serve.requireToken,
      },
      ...{ tokens, clock },
    }),
    execNotify:
      options.notifyOrigin === null
        ? null
        : createExecNotify({
            ...{ host: agent.host, clock, keys: [await notifyKey(options.stateDir)] },
            keep: (id, state) => keepInLog(agent.host.store, id, state),
          }),
    ...{ viewers, clock, random, maxConnections: serve.maxConnections },
    notReady: () => (isStopping ? 'stopping' : null),
    logError: error => warn(messageOf(error)),
  }
  try {
    const parts = { allowPlaintext: serve.allowPlaintext, maxConnections: serve.maxConnections, warn }
    const surface = createHttpSurface(serving)
    listeners = await openListeners({ specs: serve.listeners, tls: serve.tls, surface, ...parts })
    world.stdout.write(`${JSON.stringify({ type: 'listening', listeners: listeners.listening })}\n`)
    await stopped(stop.signal)
    isStopping = true
    await runsEnded(agent.host, serve.drainGraceMs, clock)
    return stop.stopped()?.exitCode ?? 0
  } finally {
    // Viewers hear the end of their runs before they are closed.
    await within(STOP_MS, agent.close(new DOMException('the server stops', 'AbortError')), clock)
    viewers.closeAll(CLOSE.stopping, 'the server stops')
    viewers.stop()
    await listeners?.close()
    stop.dispose()
  }
}

/** The name by which sandboxes know us. */
function hostOf(origin: string | null): string[] {
  return origin === null ? [] : [new URL(origin).hostname]
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
