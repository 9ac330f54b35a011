/** The running gateway: started in the page's order, each failure with its meaning, stopped step by step. */
import { join } from 'node:path'
import { createLocks } from '@beige/harness'
import { usageJson } from '@beige/models'
import type { AuditBody, Clock, Random } from '@beige/protocol'
import type { DriverOptions } from '@beige/sandbox'
import { type Agent, createAgent } from '../agents/agent.ts'
import { openSessionKeys } from '../agents/session-keys.ts'
import { openAuditLog } from '../audit/audit-log.ts'
import { createRedactor } from '../audit/redactor.ts'
import { unfinishedCalls } from '../audit/unfinished.ts'
import type { GatewayConfig } from '../config/resolved.ts'
import { fail } from '../errors.ts'
import type { GatewayLog } from '../home/gateway-log.ts'
import { writeJsonFile } from '../home/json-file.ts'
import { type Layout, makeFolder } from '../home/layout.ts'
import { createAdmission } from '../http/admission.ts'
import { apiRoutes } from '../http/api.ts'
import { createHttpServer } from '../http/server.ts'
import { createAccessRules } from '../llm/access.ts'
import { answerWireError } from '../llm/llm-call.ts'
import { llmRoutes, wireOfPath } from '../llm/llm-routes.ts'
import { errorOfThrown } from '../llm/wire-error.ts'
import type { PluginWorld } from '../plugins/plugin-process.ts'
import { supervisePlugin } from '../plugins/plugin-supervisor.ts'
import { openApiTokens } from '../tokens/api-tokens.ts'
import { openVirtualKeys } from '../tokens/virtual-keys.ts'
import { createCallTokens, readTokenKey } from '../tool-socket/call-tokens.ts'
import { usageOf } from '../usage.ts'
import { VERSION } from '../version.ts'
import { healthOf } from './health.ts'
import { openModelRouter } from './model-router.ts'
import { loadPlugins, startPlugins } from './plugins.ts'
import { stopStep } from './stop-steps.ts'
import { takeOverRuns } from './take-over.ts'

export type GatewayParts = {
  config: GatewayConfig
  layout: Layout
  clock: Clock
  random: Random
  drivers: DriverOptions
  plugins: Pick<PluginWorld, 'runner' | 'nodeArgs' | 'codeFolders'>
  log: GatewayLog
  /** One bad sandbox or plugin fails the start. */
  strict: boolean
  pid: number
  /** Somebody asked over HTTP that it stops. */
  onStopAsked(options: StopOptions): void
  /** Looks whether a restart would come up; lines of what is wrong, or null. */
  checkRestart(): Promise<readonly string[] | null>
}
export type StopOptions = { keepSandboxes: boolean; restart?: boolean }

export interface Gateway {
  /** `127.0.0.1:7433` and the names of agents that are not ready. */
  readonly summary: string
  /** Answers how many runs did not end in time and are gone on with at the next start. */
  stop(options: StopOptions): Promise<{ parked: number }>
}

const SANDBOXES_AT_ONCE = 4
const STOP_MS = { plugin: 5_000, sockets: 2_000, sandboxes: 10_000, models: 5_000, audit: 10_000 } as const

/** Rejects when a step fails that nothing can go on without; what was begun is then ended again. */
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  const { config, layout, clock, random, log } = parts
  const startedAt = clock.monotonic()
  const cleanup = new AsyncDisposableStack()
  try {
    const redact = createRedactor(config.secrets)
    const audit = await openAuditLog({
      path: layout.audit,
      maxSizeBytes: config.gateway.audit.maxSizeBytes,
      clock,
    })
    cleanup.defer(() => audit.close())
    if (audit.recovered > 0)
      log.write('warn', `audit: ${audit.recovered} bytes of a torn line were set aside`)
    for (const end of unfinishedCalls(layout.audit)) await audit.append(end)
    await audit.append(gatewayNote('gateway.start', { version: VERSION, pid: parts.pid }))

    const supervisors = config.plugins.map(plugin =>
      supervisePlugin(plugin, {
        ...parts.plugins,
        clock,
        dataDir: name => {
          const folder = join(layout.data, name)
          makeFolder(folder)
          return folder
        },
        agentNames: config.agents.map(agent => agent.name),
        log: (name, level, text) => log.write(level, `plugin ${name}: ${text}`),
      }),
    )
    cleanup.defer(async () => {
      for (const supervisor of supervisors.toReversed()) await supervisor.stop(STOP_MS.plugin)
    })
    await loadPlugins(supervisors)

    const router = await openModelRouter({ config, layout, clock, random, audit, redact, log })
    cleanup.defer(() => router.close())
    const locks = createLocks()
    const tokens = createCallTokens(readTokenKey(layout.keys))
    const agents = new Map<string, Agent>()
    for (const agent of config.agents) {
      const made = createAgent({
        agent,
        layout,
        router,
        plugins: supervisors,
        tokens,
        audit,
        auditArgs: config.gateway.audit.args,
        redact,
        locks,
        drivers: parts.drivers,
        clock,
        random,
        log: text => log.write('info', text),
      })
      agents.set(agent.name, made)
    }
    const keys = await openSessionKeys({
      path: layout.sessionsMap,
      stores: new Map([...agents.values()].map(agent => [agent.name, agent.store])),
      clock,
      random,
      log: text => log.write('warn', text),
    })

    let notReady: string | null = 'starting'
    const apiTokens = openApiTokens(layout.tokens, clock, random)
    const virtualKeys = openVirtualKeys(layout.keys, clock, random)
    const access = createAccessRules(router, config.agents)
    const refusesPrompts = () => (notReady === 'stopping' ? notReady : null)
    const server = createHttpServer({
      settings: config.gateway,
      admission: createAdmission({ tokens: apiTokens, keys: virtualKeys, clock, ...config.gateway }),
      routes: [
        ...llmRoutes({
          access,
          audit,
          clock,
          random,
          redact,
          refusesPrompts,
          log: text => log.write('warn', text),
        }),
        ...apiRoutes({
          agents,
          keys,
          tokens: apiTokens,
          health: isOperator =>
            healthOf(
              {
                startedAt,
                clock,
                pid: parts.pid,
                agents,
                supervisors,
                router,
                audit,
                address: server.address,
                notReady,
              },
              isOperator,
            ),
          refusesPrompts,
          virtualKeys,
          router,
          usage: async () => usageJson(await usageOf(layout)),
          access,
          stop: options => parts.onStopAsked(options),
          checkRestart: () => parts.checkRestart(),
          closeStreamsOf: id => server.closeStreamsOf(id),
          audited: (event, details) =>
            audit.append({ phase: 'note', id: event, agent: '', type: 'admin', event, details }),
        }),
      ],
      answerErrorOf(path, response, error) {
        const wire = wireOfPath(path)
        if (wire === null) return false
        answerWireError(response, wire, errorOfThrown(error, redact, clock.now()), clock.now())
        return true
      },
      clock,
      notReady: () => notReady,
      notAlive: () => (Object.values(router.health().limiters).some(one => one.isStuck) ? 'stuck' : null),
      logError: error => log.error('http', error),
    })
    cleanup.defer(() => server.close())
    await server.listenControl(layout.controlSocket)
    await server.listenTcp()
    writeJsonFile(layout.info, { pid: parts.pid, version: VERSION, ...server.address })

    for (const agent of agents.values()) {
      cleanup.defer(() => agent.closeSocket())
      cleanup.defer(() => agent.sandbox.close(false))
      await agent.listen()
    }
    await startSandboxes([...agents.values()], parts)
    await startPlugins(supervisors, parts)
    for (const agent of agents.values())
      takeOverRuns(agent, { clock, log }).catch(error => log.error(`agent ${agent.name}`, error))
    notReady = null
    log.write('info', 'ready')

    cleanup.move() // from here on `stop` ends it, in its own order
    const steps = { log, clock }
    return {
      summary: summaryOf(server.address, agents),
      async stop({ keepSandboxes }) {
        notReady = 'stopping'
        log.write('info', 'stopping')
        const all = [...agents.values()]
        await stopStep('drain', config.gateway.drainMs, steps, signal => drain(all, signal))
        const parked = all.filter(agent => agent.host.live().some(live => live.run !== null))
        const runs = parked.flatMap(agent => agent.host.live().filter(live => live.run !== null))
        if (runs.length > 0)
          log.write('info', `stop: ${runs.length} runs did not end in time; they go on at the next start`)
        await stopStep('sessions', STOP_MS.sandboxes, steps, () =>
          Promise.all(
            all.map(agent => (parked.includes(agent) ? parkSessions(agent) : closeSessions(agent))),
          ),
        )
        for (const supervisor of supervisors.toReversed())
          await stopStep(`plugin ${supervisor.plugin.name}`, STOP_MS.plugin + 1_000, steps, () =>
            supervisor.stop(STOP_MS.plugin),
          )
        await stopStep('http', STOP_MS.sockets, steps, () => server.close())
        await stopStep('tool sockets', STOP_MS.sockets, steps, () =>
          Promise.all(all.map(agent => agent.closeSocket())),
        )
        await stopStep('sandboxes', STOP_MS.sandboxes, steps, () =>
          Promise.all(all.map(agent => agent.sandbox.close(keepSandboxes || parked.includes(agent)))),
        )
        await stopStep('models', STOP_MS.models, steps, () => router.close())
        await stopStep('audit', STOP_MS.audit, steps, async () => {
          await audit.append(gatewayNote('gateway.stop', {}))
          await audit.close()
        })
        log.write('info', 'stopped')
        return { parked: runs.length }
      },
    }
  } catch (error) {
    await cleanup.disposeAsync()
    throw error
  }
}

function closeSessions(agent: Agent): Promise<void> {
  return agent.host.close(new DOMException('the gateway stops', 'AbortError'))
}

/**
 * The logs are closed under what still runs, so nothing more is written, and nothing is aborted, so its commands go on
 * in the sandbox: from here on it is as if the process had been killed, and the next start takes the runs over.
 */
async function parkSessions(agent: Agent): Promise<void> {
  await Promise.all(agent.host.live().map(live => live.session.log.close()))
}

/** Turns end by themselves within the time that the step has; what is left is parked. */
async function drain(agents: readonly Agent[], signal: AbortSignal): Promise<void> {
  const runs = agents.flatMap(agent => agent.host.live().flatMap(live => (live.run ? [live.run.ended] : [])))
  const late = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
  await Promise.race([Promise.allSettled(runs), late])
}

async function startSandboxes(agents: readonly Agent[], parts: GatewayParts): Promise<void> {
  const waiting = [...agents]
  const next = async (): Promise<void> => {
    for (let agent = waiting.shift(); agent; agent = waiting.shift()) {
      await agent.sandbox.start()
      const state = agent.sandbox.state()
      if (parts.strict && state.state === 'unavailable')
        throw fail('agent_unavailable', { agent: agent.name, reason: state.reason })
    }
  }
  await Promise.all(Array.from({ length: SANDBOXES_AT_ONCE }, next))
}

function summaryOf(
  address: { host: string; port: number } | null,
  agents: ReadonlyMap<string, Agent>,
): string {
  const bad = [...agents.values()].filter(agent => agent.sandbox.state().state !== 'ready')
  const where = address === null ? '' : `${address.host}:${address.port}, `
  const count = `${agents.size} agent${agents.size === 1 ? '' : 's'}`
  return `${where}${count}${bad.length === 0 ? '' : `, not available: ${bad.map(agent => agent.name).join(', ')}`}`
}

function gatewayNote(event: string, details: Record<string, unknown>): AuditBody {
  return { phase: 'note', id: event, agent: '', type: 'gateway', event, details }
}
