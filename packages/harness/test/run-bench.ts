/** Set-up of the run tests: a scripted model on a real wire, a memory session, tools of the test's own. */
import { createModelRouter } from '@beige/models'
import {
  type AgentEvent,
  type EntryId,
  isSessionId,
  newEntryId,
  type PromptBody,
  type SessionId,
  type SessionRecord,
  systemClock,
  systemRandom,
} from '@beige/protocol'
import { createMemoryStore, createMemoryVault, type MemoryVault } from '@beige/sessions'
import {
  type ModelServer,
  type Script,
  type SeenRequest,
  startModelServer,
  turnFor,
  type WireName,
  wireUrl,
} from '@beige/test-support'
import { int, obj } from '@earendil-works/pi-schema'
import { createLocks } from '../src/locks.ts'
import type { RunParts } from '../src/run.ts'
import { openedSession, type Session } from '../src/session.ts'
import type { Hands, Tool } from '../src/tool.ts'
import { createPipeline } from '../src/tool-pipeline.ts'

export const WIRES: readonly WireName[] = [
  'anthropic',
  'openai-chat',
  'openai-responses',
  'gemini',
  'bedrock',
]
export const APIS = {
  anthropic: 'anthropic-messages',
  'openai-chat': 'openai-completions',
  'openai-responses': 'openai-responses',
  gemini: 'google-generative-ai',
  bedrock: 'bedrock-converse-stream',
} as const

const noHands: Hands = { id: 'none', open: () => Promise.reject(new Error('no sandbox in this test')) }

export type RunBench = AsyncDisposable & {
  server: ModelServer
  /** What the model was asked, newest last. */
  seen: readonly SeenRequest[]
  vault: MemoryVault
  /** Opens the session anew, as another process would. */
  session(): Promise<Session>
  prompt(session: Session, text: string, output?: PromptBody['output']): Promise<EntryId>
  parts(session: Session, runId: EntryId, tools: readonly Tool[]): Promise<RunParts>
  events: AgentEvent[]
}

export async function runBench(script: Script, wire: WireName = 'anthropic'): Promise<RunBench> {
  const seen: SeenRequest[] = []
  const server = await startModelServer({
    script: request => {
      seen.push(request)
      return turnFor(script, request)
    },
  })
  const vault = createMemoryVault()
  const events: AgentEvent[] = []
  const id = sessionId('s_test')
  const router = await createModelRouter({
    providers: {
      fake: {
        apiKey: 'k',
        baseUrl: wireUrl(server, wire),
        api: APIS[wire],
        models: [
          { id: 'scripted', contextWindow: 100_000, maxTokens: 4096, input: ['text', 'image'] },
          { id: 'second', contextWindow: 100_000, maxTokens: 4096 },
        ],
      },
    },
    env: {},
    clock: systemClock,
    fallback: { backoffMs: 1 },
    scope: { fallbackModels: [{ model: 'fake/second' }] },
  })
  return {
    server,
    seen,
    vault,
    events,
    session: async () => {
      // A store of its own: its incarnation is another process's.
      const store = createMemoryStore({ clock: systemClock, random: systemRandom, vault })
      for (const kept of vault.sessions.values()) kept.owner = null // as after a graceful end
      return openedSession(
        (await store.exists(id)) ? await store.open(id) : await store.create({ id, cwd: '/w' }),
      )
    },
    prompt: async (session, text, output) => {
      const entry = newEntryId(systemClock, systemRandom)
      await session.append({
        type: 'prompt',
        id: entry,
        parent_id: session.state().leaf,
        message: [{ type: 'text', text }],
        origin: { kind: 'test' },
        ...(output === undefined ? {} : { output }),
      })
      return entry
    },
    parts: async (session, runId, tools) => ({
      session,
      runId,
      resumed: false,
      router,
      model: router.resolve('fake/scripted'),
      systemPrompt: async () => 'You are tested.',
      tools,
      pipeline: createPipeline({
        tools,
        policy: { decide: () => ({ effect: 'allow', rule: 'test' }) },
        audit: { start: async () => {}, end: async () => {} },
        clock: systemClock,
        locks: createLocks(),
      }),
      hands: noHands,
      cwd: '/w',
      seenFiles: new Map(),
      callEnv: () => ({}),
      clock: systemClock,
      random: systemRandom,
      emit: event => events.push(event),
    }),
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** Counts up; `calls` are the inputs that really ran. */
export function countTool(calls: number[], parts: Partial<Tool> = {}): Tool {
  return {
    name: 'count',
    description: 'Counts.',
    inputSchema: obj({ to: int({ minimum: 0 }) }),
    idempotent: false,
    mode: 'shared',
    run: async input => {
      const to = typeof input === 'object' && input !== null && 'to' in input ? Number(input.to) : Number.NaN
      calls.push(to)
      return {
        content: [{ type: 'text', text: `counted to ${to}` }],
        isError: false,
        outcome: 'done',
        details: {},
      }
    },
    ...parts,
  }
}

export function typesOf(records: readonly SessionRecord[]): string[] {
  return records.map(record => record.type)
}

export function sessionId(text: string): SessionId {
  if (!isSessionId(text)) throw new Error(`not an id: ${text}`)
  return text
}
