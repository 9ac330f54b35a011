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
import { type ModelRouter, namedModel, warmUp } from '@beige/models'
import type { Clock, SessionId } from '@beige/protocol'
import { driverOptionsFrom } from '@beige/sandbox'
import type { SessionState } from '@beige/sessions'
import { endWithJobs } from './end-of-jobs.ts'
import { agentHands, hasNotes, refuseWorkspaceOfRoot } from './hands.ts'
import { openAgentRouter } from './models/agent-router.ts'
import type { Effort } from './models/model-options.ts'
import { notifyKey, notifyOf } from './notify.ts'
import type { AgentOptions } from './options.ts'
import { logIsTheAudit, offeredTools } from './permissions.ts'
import type { ProcessWorld } from './process-world.ts'
import { openSealing } from './sealing-choice.ts'
import { EFFORTS } from './settings/fields.ts'
import { openStore } from './store-choice.ts'
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
  const router = await openAgentRouter({ options, world })
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
    const model = fixed ? namedModel(router, options.modelFlag ?? options.model).model : null
    return {
      host,
      sessionId: async () => id,
      fresh: () => ({
        cwd: world.cwd,
        ...(options.title === null ? {} : { title: options.title }),
        ...(model ? { model: `${model.provider}/${model.id}` } : {}),
      }),
      close: reason => close(host, reason),
    }
  } catch (error) {
    await close(host, error)
    throw error
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
    const { model, effort } = chosen(router, options, state)
    return {
      router,
      model,
      effort,
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
      ...(options.maxTokens === null ? {} : { maxTokens: options.maxTokens }),
      ...(options.maxSteps === null ? {} : { maxSteps: options.maxSteps }),
    }
  }
}

/** A flag, else the newest choice of the session's own, else what variables and settings say. */
function chosen(
  router: ModelRouter,
  options: AgentOptions,
  { settings, session }: SessionState,
): { model: SessionSetup['model']; effort: Effort } {
  const set = settings.get('model')
  const name = options.modelFlag ?? (typeof set === 'string' ? set : session.model) ?? options.model
  const { model, level } = namedModel(router, name)
  // The library loads while the session opens; what fails there fails again, with its reason, when it is used.
  warmUp(model).catch(() => {})
  const stored = EFFORTS.find(one => one === settings.get('reasoning_effort'))
  const asked = options.effortFlag ?? (options.modelFlag === null ? (stored ?? level) : (level ?? stored))
  return { model, effort: asked ?? options.effort ?? (model.reasoning ? 'medium' : 'off') }
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

/** Facts that move, so they go with the prompt and not into the cached system text. */
function contextOf(nowMs: number, elsewhere: boolean): string {
  const facts = [`date: ${new Date(nowMs).toISOString().slice(0, 10)}`]
  if (elsewhere) facts.push('the workspace is another directory than the one this session began in')
  return `<context>\n${facts.join('\n')}\n</context>`
}
