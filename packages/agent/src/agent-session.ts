/** Opens the one session that `run` or `serve` is about: router, store, sandbox and host out of the options. */
import {
  createLocks,
  createPipeline,
  DEFAULT_LIFETIME_MS,
  type JobSettings,
  readContextFiles,
  type Session,
  systemPrompt,
  toolset,
} from '@beige/harness'
import {
  type ApproveSettings,
  createHost,
  type LifecycleSink,
  type LiveSession,
  type MakeSetup,
  type NewSession,
  type SessionHost,
  type SessionSetup,
  type Viewer,
} from '@beige/host'
import {
  createModelRouter,
  type FallbackNumbers,
  type ModelRouter,
  takeProviderVariables,
  warmUp,
} from '@beige/models'
import type { Clock, SessionId } from '@beige/protocol'
import { driverOptionsFrom } from '@beige/sandbox'
import type { SessionState } from '@beige/sessions'
import { endWithJobs } from './end-of-jobs.ts'
import { agentHands, hasNotes, refuseWorkspaceOfRoot } from './hands.ts'
import { notifyKey, notifyOf } from './notify.ts'
import type { AgentOptions } from './options.ts'
import { logIsTheAudit, offeredTools } from './permissions.ts'
import type { ProcessWorld } from './process-world.ts'
import { openSealing } from './sealing-choice.ts'
import { openStore } from './store-choice.ts'
import { VERSION } from './version.ts'
import { whichSession } from './which-session.ts'

const REACH_MS = 10_000 // for an endpoint elsewhere to say where its workspace lies

export type AgentHost = {
  host: SessionHost
  /** The one that the options name, or a new one. */
  sessionId(): Promise<SessionId>
  /** What a session begins with. */
  fresh(): NewSession
  /** Ends the runs, the sandboxes and the sessions. Rejects where something could not be ended. */
  close(reason: unknown): Promise<void>
}

export type AgentHostParts = {
  options: AgentOptions
  world: ProcessWorld
  /** What becomes of a run that was cut off. */
  openRun: (state: SessionState) => SessionSetup['openRun']
  idleReleaseMs?: number
  /** Which calls a person is asked about; absent: none. */
  approve?: ApproveSettings
  /** Who is told what became of runs; absent: nobody. */
  lifecycle?: LifecycleSink
}

export type AgentSession = {
  live: LiveSession
  close: AgentHost['close']
}

/** Opens the one session that the options name; `viewer` is attached before anything happens. */
export async function openAgentSession(parts: AgentHostParts & { viewer: Viewer }): Promise<AgentSession> {
  const { host, sessionId, fresh, close } = await openAgentHost(parts)
  try {
    return { live: await host.session(await sessionId(), fresh(), parts.viewer), close }
  } catch (error) {
    await close(error)
    throw error
  }
}

/** Throws `no_route` and `unknown_model` of new sessions before anything is made. */
export async function openAgentHost(parts: AgentHostParts): Promise<AgentHost> {
  const { options, world } = parts
  const { clock, random } = world
  await refuseWorkspaceOfRoot(options, world.cwd)
  const router = await createModelRouter({
    env: takeProviderVariables(world.env),
    clock,
    random,
    userAgent: `beige-agent/${VERSION}`,
    fallback: fallbackOf(options),
    scope: { fallbackModels: options.fallbackModels.map(model => ({ model })) },
    ...(options.persistent ? { state: { directory: options.stateDir, isLedgerRead: false } } : {}),
    warn: text => world.stderr.write(`warning: ${text}\n`),
  })
  // Ends the host first: what its requests used is written down after.
  const close = async (host: ReturnType<typeof createHost>, reason: unknown): Promise<void> => {
    try {
      await host.close(reason)
    } finally {
      await router.close()
    }
  }
  const sealing = options.sealing && (await openSealing(options.sealing, world))
  const store = openStore(options.store, options.sessionDir, world, sealing)
  const host = createHost({
    store,
    clock,
    random,
    makeSetup: setupOf(parts, router),
    models: () => router.models(),
    ...(parts.idleReleaseMs === undefined ? {} : { idleReleaseMs: parts.idleReleaseMs }),
    waiting: (id, atMostMs) =>
      world.stderr.write(
        `session ${id} was not closed by its last owner; waiting ${Math.ceil(atMostMs / 1000)} s to see that it is gone\n`,
      ),
  })
  try {
    const id = await whichSession(options, world.cwd, store, world)
    // A session that is there may have a model of its own, which its first record says.
    const fixed = options.modelFlag !== null || !(await store.exists(id))
    const model = fixed ? modelNamed(router, options.modelFlag ?? options.model) : null
    return {
      host,
      sessionId: async () => id,
      fresh: () => ({ cwd: world.cwd, ...(model ? { model: `${model.provider}/${model.id}` } : {}) }),
      close: reason => close(host, reason),
    }
  } catch (error) {
    await close(host, error)
    throw error
  }
}

/** Retries are passes over the models. A cooldown is waited for as long as a retry would be. */
function fallbackOf({ retry }: AgentOptions): Partial<FallbackNumbers> {
  return {
    passes: retry.maxRetries + 1,
    failuresPerModel: retry.maxRetries + 1,
    backoffMs: retry.baseDelayMs,
    backoffMaxMs: retry.maxBackoffMs,
    cooldownWaitMs: retry.maxBackoffMs,
  }
}

function setupOf(
  { options, world, openRun, approve, lifecycle }: AgentHostParts,
  router: ModelRouter,
): MakeSetup {
  const { clock } = world
  const tools = toolset('coding')
  const pipeline = createPipeline({
    tools,
    policy: offeredTools(tools),
    audit: logIsTheAudit,
    clock,
    locks: createLocks(),
  })
  const drivers = driverOptionsFrom(world.env)
  return async session => {
    const state = session.state()
    const { cwd } = world
    const hands = agentHands(options, session, cwd, drivers, clock, text =>
      world.stderr.write(`warning: ${text}\n`),
    )
    // A call of a run that is gone on with comes before the system prompt, which would have asked.
    if (options.sandbox.kind === 'remote' && state.openRun) {
      await hands.open(AbortSignal.timeout(REACH_MS)).catch(() => undefined) // the call itself says what is wrong
    }
    return {
      router,
      model: modelNamed(router, options.modelFlag ?? chosenModel(state) ?? options.model),
      tools,
      pipeline,
      hands,
      get workdir() {
        return hands.workdir
      },
      openRun: openRun(state),
      ...(approve ? { approve } : {}),
      ...(lifecycle ? { lifecycle } : {}),
      callEnv: () => ({}),
      systemPrompt: async (signal, own) => {
        const open = (await hasNotes(options, cwd)) ? await own.open(signal) : null
        return systemPrompt({
          workdir: hands.workdir,
          notes: open ? await readContextFiles(open.exec, open.workspace, signal) : [],
          ...(options.systemPrompt === null ? {} : { base: options.systemPrompt }),
        })
      },
      promptContext: async () => contextOf(clock.now(), state.session.cwd !== cwd),
      onJobEnd: options.onJobEnd,
      endsJobs: options.sandbox.kind !== 'remote',
      jobs: {
        keep: options.persistent,
        ...options.jobTimes,
        ...(await notifying(options, session, clock)),
      },
      close: () => endWithJobs(session, hands, options, line => world.stderr.write(`${line}\n`)),
      ...(options.maxSteps === null ? {} : { maxSteps: options.maxSteps }),
    }
  }
}

/** The newest choice of the session's own. */
function chosenModel({ settings, session }: SessionState): string | undefined {
  const chosen = settings.get('model')
  return typeof chosen === 'string' ? chosen : session.model
}

/** A session that does not last has nobody to be told after its process. */
async function notifying(
  { notifyOrigin: origin, persistent, stateDir, jobTimes }: AgentOptions,
  session: Session,
  clock: Clock,
): Promise<Pick<JobSettings, 'notify'>> {
  if (origin === null || !persistent) return {}
  const { lifetimeMs = DEFAULT_LIFETIME_MS } = jobTimes
  return { notify: notifyOf({ origin, key: await notifyKey(stateDir) }, session.log.id, lifetimeMs, clock) }
}

/** The provider's library loads while the session opens; what fails there fails again, with its reason, when it is used. */
function modelNamed(router: ModelRouter, name: string): SessionSetup['model'] {
  const model = router.resolve(name)
  warmUp(model).catch(() => {})
  return model
}

/** Facts that move, so they go with the prompt and not into the cached system text. */
function contextOf(nowMs: number, elsewhere: boolean): string {
  const facts = [`date: ${new Date(nowMs).toISOString().slice(0, 10)}`]
  if (elsewhere) facts.push('the workspace is another directory than the one this session began in')
  return `<context>\n${facts.join('\n')}\n</context>`
}
