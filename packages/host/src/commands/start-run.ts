/** A run begins by a durable prompt, one at a time; a repeated key finds the first (sessions.md). */
import { closeRun } from '@beige/harness'
import { type EntryId, newEntryId, type PromptBody, type ResultBlock } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { LiveSession, RunInFlight } from '../live-session.ts'

const PROMPT_CONTEXT_MS = 10_000

export type Said = {
  content: readonly ResultBlock[]
  origin: PromptBody['origin']
  key?: string | undefined
  /** The queued message that it is. */
  queued?: string | undefined
  /** The form that the answer must have. */
  output?: PromptBody['output']
}

type Starting = { key: string | undefined; over: Promise<unknown> }

// Between the check for a run in flight and its beginning lies a write: two prompts must not both pass (H55).
const starting = new WeakMap<LiveSession, Starting>()

/**
 * The run that this key has begun; undefined where there is none. A promise only where its prompt is just being written:
 * whoever finds none goes on to `startRun` in the same step.
 */
export function runOfKey(
  live: LiveSession,
  key: string | undefined,
): EntryId | undefined | Promise<EntryId | undefined> {
  if (key === undefined) return undefined
  const find = () => live.session.state().keys.get(key)
  const pending = starting.get(live)
  return pending?.key === key ? pending.over.then(find, find) : find()
}

export function isBusy(live: LiveSession): boolean {
  return live.run !== null || starting.has(live)
}

/** A run that this very process had to leave, because its end could not be written (H03), goes on. */
export function goneOnWith(live: LiveSession): RunInFlight | null {
  const open = live.session.state().openRun
  if (!open || isBusy(live) || live.setup.openRun === 'close') return null
  return live.begin(open.id, true)
}

/** `durable` is called when the prompt is, before anything of the run. Throws `busy`. */
export async function startRun(
  live: LiveSession,
  said: Said,
  durable: (runId: EntryId) => void,
): Promise<RunInFlight> {
  if (isBusy(live)) throw fail('busy', { run_id: live.run?.id ?? 'starting' })
  const over = begin(live, said, durable)
  starting.set(live, { key: said.key, over })
  try {
    return await over
  } finally {
    starting.delete(live)
  }
}

async function begin(
  live: LiveSession,
  { content, origin, key, queued, output }: Said,
  durable: (runId: EntryId) => void,
): Promise<RunInFlight> {
  const { session, setup } = live
  const left = session.state().openRun
  if (left) await closeRun(session, left.id)
  const context = await setup.promptContext?.(AbortSignal.timeout(PROMPT_CONTEXT_MS))
  const id = newEntryId(live.clock, live.random)
  const body: PromptBody = {
    type: 'prompt',
    id,
    parent_id: session.state().leaf,
    message: [...content],
    origin,
    ...(context === undefined ? {} : { context }),
    ...(key === undefined ? {} : { idempotency_key: key }),
    ...(queued === undefined ? {} : { queued }),
    ...(output === undefined ? {} : { output }),
  }
  await session.append(body)
  live.lanes.catchUp()
  durable(id)
  return live.begin(id, false)
}

/** What a client says, as the log has it. */
export function contentOf(command: {
  message: string
  images?: readonly { media_type: string; data: string }[]
}): ResultBlock[] {
  const images = command.images ?? []
  return [
    { type: 'text', text: command.message },
    ...images.map(image => ({ type: 'image' as const, media_type: image.media_type, data: image.data })),
  ]
}

export const keyConflict = (key: string | undefined) =>
  fail('conflict', { key, reason: `idempotency key ${key} was used for another message` })

export function isSame(one: readonly ResultBlock[], other: readonly ResultBlock[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
