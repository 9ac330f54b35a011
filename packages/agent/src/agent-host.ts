/** Puts a session host together out of the options of `run` or `serve`. */
import {
  createLocks,
  createPipeline,
  readContextFiles,
  type SandboxHands,
  systemPrompt,
  toolset,
} from '@beige/harness'
import { createHost, type SessionHost, type SessionSetup } from '@beige/host'
import { createModelRouter, takeProviderVariables, warmUp } from '@beige/models'
import { driverOptionsFrom } from '@beige/sandbox'
import { createFilesStore, createMemoryStore, type SessionStore } from '@beige/sessions'
import { agentHands, hasNotes, workdirOf } from './hands.ts'
import type { AgentOptions } from './options.ts'
import { logIsTheAudit, offeredTools } from './permissions.ts'
import type { ProcessWorld } from './process-world.ts'
import { VERSION } from './version.ts'

export type AgentHost = {
  host: SessionHost
  store: SessionStore
  /** `provider/id` of what the sessions start with. */
  model: string
  /** Ends the runs, the sessions and their sandboxes. */
  close(reason: unknown): Promise<void>
}

/** Throws `no_route` and `unknown_model` before anything is started. */
export async function agentHost(
  options: AgentOptions,
  world: ProcessWorld,
  openRun: SessionSetup['openRun'],
): Promise<AgentHost> {
  const { clock, random } = world
  const router = await createModelRouter({
    env: takeProviderVariables(world.env),
    clock,
    userAgent: `beige-agent/${VERSION}`,
  })
  const model = router.resolve(options.model)
  // The provider's library loads while the session opens; what fails here fails again, with its reason, when it is used.
  warmUp(model).catch(() => {})
  const tools = toolset('coding')
  const pipeline = createPipeline({
    tools,
    policy: offeredTools(tools),
    audit: logIsTheAudit,
    clock,
    locks: createLocks(),
  })
  const store = options.persistent
    ? createFilesStore({ root: options.sessionDir, clock, random })
    : createMemoryStore({ clock, random })
  const drivers = driverOptionsFrom(world.env)
  const opened = new Set<SandboxHands>()

  const host = createHost({
    store,
    clock,
    random,
    makeSetup: async session => {
      const cwd = session.state().session.cwd
      const hands = agentHands(options, session.log.id, cwd, drivers, text =>
        world.stderr.write(`warning: ${text}\n`),
      )
      opened.add(hands)
      const workdir = workdirOf(options, cwd)
      return {
        router,
        model,
        tools,
        pipeline,
        hands,
        workdir,
        openRun,
        callEnv: () => ({}),
        systemPrompt: async signal =>
          systemPrompt({
            workdir,
            notes: (await hasNotes(cwd))
              ? await readContextFiles((await hands.open(signal)).exec, workdir, signal)
              : [],
            ...(options.systemPrompt === null ? {} : { base: options.systemPrompt }),
          }),
        promptContext: async () =>
          `<context>\ndate: ${new Date(clock.now()).toISOString().slice(0, 10)}\n</context>`,
        ...(options.maxSteps === null ? {} : { maxSteps: options.maxSteps }),
      }
    },
  })
  return {
    host,
    store,
    model: `${model.provider}/${model.id}`,
    close: async reason => {
      await host.close(reason)
      await Promise.all([...opened].map(hands => hands.close()))
    },
  }
}
