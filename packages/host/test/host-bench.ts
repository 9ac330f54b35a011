/** Set-up of the host's tests: a host over a memory store, a scripted model on a real wire, one tool of the test's own. */
import { createLocks, createPipeline, type Tool } from '@beige/harness'
import { createModelRouter } from '@beige/models'
import {
  type Clock,
  type Frame,
  newSessionId,
  type SessionId,
  systemClock,
  systemRandom,
} from '@beige/protocol'
import { createMemoryStore, createMemoryVault, type SessionStore } from '@beige/sessions'
import { checkFrame, type Script, startModelServer } from '@beige/test-support'
import { int, obj } from '@earendil-works/pi-schema'
import { createHost, type SessionHost } from '../src/host.ts'
import type { LiveSession } from '../src/live-session.ts'
import type { SessionSetup } from '../src/setup.ts'
import type { Viewer } from '../src/viewers/viewer.ts'

export type TestViewer = Viewer & { frames: Frame[] }

export type HostBench = AsyncDisposable & {
  host: SessionHost
  /** Another process over the same store. */
  another(): SessionHost
  open(tool?: Partial<Tool>, viewer?: Viewer): Promise<LiveSession>
  /** As after the death of this process: another host opens the same session. */
  successor(viewer?: Viewer): Promise<LiveSession>
  closeHost(): Promise<void>
  /** Fails on a frame that the published schema does not know. */
  viewer(onFrame?: (frame: Frame) => void, role?: 'drive' | 'view'): TestViewer
  /** Types of the records that are in the store at this moment. */
  durableTypes(): string[]
  /** How often the model was asked. */
  requests(): number
}

export async function hostBench(
  script: Script,
  setup: Partial<SessionSetup> = {},
  clock: Clock = systemClock,
  around: (store: SessionStore) => SessionStore = store => store,
): Promise<HostBench> {
  const server = await startModelServer({ script })
  const vault = createMemoryVault()
  const id: SessionId = newSessionId(systemClock, systemRandom)
  let overrides: Partial<Tool> = {}
  const router = await createModelRouter({
    providers: {
      fake: {
        apiKey: 'k',
        baseUrl: server.url,
        api: 'anthropic-messages',
        models: [{ id: 'scripted', contextWindow: 100_000, maxTokens: 4096 }],
      },
    },
    env: {},
    clock: systemClock,
  })
  const newHost = () =>
    createHost({
      store: around(createMemoryStore({ clock: systemClock, random: systemRandom, vault })),
      clock,
      random: systemRandom,
      makeSetup: async () => {
        const tools = [{ ...countTool, ...overrides }]
        return {
          router,
          model: router.resolve('fake/scripted'),
          tools,
          pipeline: createPipeline({
            tools,
            policy: { decide: () => ({ effect: 'allow', rule: 'test' }) },
            audit: { start: async () => {}, end: async () => {} },
            clock: systemClock,
            locks: createLocks(),
          }),
          hands: { id: 'none', open: () => Promise.reject(new Error('no sandbox in this test')) },
          workdir: '/w',
          systemPrompt: async () => 'You are tested.',
          callEnv: () => ({}),
          openRun: 'resume',
          ...setup,
        }
      },
    })
  const host = newHost()
  const hosts = [host]
  const another = () => {
    const next = newHost()
    hosts.push(next)
    return next
  }
  return {
    host,
    another,
    open: (tool, viewer) => {
      overrides = tool ?? {}
      return host.session(id, { cwd: '/w' }, viewer)
    },
    successor: viewer => {
      for (const kept of vault.sessions.values()) kept.owner = null // as after its lease has run out
      return another().session(id, null, viewer)
    },
    closeHost: () => host.close(new Error('the host stops')),
    viewer: (onFrame, role = 'drive') => {
      const frames: Frame[] = []
      return {
        frames,
        origin: { kind: 'test' },
        role,
        send: frame => {
          checkFrame(JSON.parse(JSON.stringify(frame)))
          frames.push(frame)
          onFrame?.(frame)
        },
      }
    },
    durableTypes: () => [...vault.sessions.values()].flatMap(kept => kept.records.map(record => record.type)),
    requests: () => server.requests.length,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(hosts.map(one => one.close(new Error('the test is over')).catch(() => {})))
      await server.close()
    },
  }
}

/** The response to the command with this id. */
export function response(frames: readonly Frame[], id: string) {
  return frames.flatMap(frame => (frame.type === 'response' && frame.id === id ? [frame] : [])).at(-1)
}

const countTool: Tool = {
  name: 'count',
  description: 'Counts.',
  inputSchema: obj({ to: int({ minimum: 0 }) }),
  idempotent: false,
  mode: 'shared',
  run: async () => ({
    content: [{ type: 'text', text: 'counted' }],
    isError: false,
    outcome: 'done',
    details: {},
  }),
}
