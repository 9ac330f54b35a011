/** `steer`, `follow_up`, `unqueue`: what is said while a run goes on. With none in flight it begins one. */
import type { LaneName } from '@beige/harness'
import type { CommandOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'
import type { CommandContext, Handler } from './handler.ts'
import { contentOf, isBusy, isSame, keyConflict, runOfKey, startRun } from './start-run.ts'

type Said = Pick<CommandOf<'steer'>, 'message' | 'images' | 'idempotency_key'>

export async function queue(
  lane: LaneName,
  command: Said,
  { live, viewer }: CommandContext,
): Promise<Record<string, unknown>> {
  const { lanes } = live
  const key = command.idempotency_key
  const content = contentOf(command)
  const known = key === undefined ? undefined : lanes.byKey(key)
  if (known) {
    if (!isSame(known.content, content)) throw keyConflict(key)
    return { queue_id: known.queue_id, duplicate: true, ...runIdOf(live), ...lanes.shown() }
  }
  const found = runOfKey(live, key)
  const first = found instanceof Promise ? await found : found
  if (first !== undefined) return { queue_id: first, duplicate: true, run_id: first, ...lanes.shown() }
  if (!isBusy(live)) {
    const run = await startRun(live, { content, origin: viewer.origin, key }, () => {})
    return { queue_id: run.id, run_id: run.id, ...lanes.shown() }
  }
  const message = { content, origin: viewer.origin, ...(key === undefined ? {} : { idempotency_key: key }) }
  try {
    const queued = await lanes.add(lane, message)
    goOn(live)
    return { queue_id: queued.queue_id, ...runIdOf(live), ...lanes.shown() }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'queue_full') {
      throw fail('queue_full', { lane, ...lanes.shown() }, error)
    }
    throw error
  }
}

const runIdOf = (live: LiveSession) => (live.run ? { run_id: live.run.id } : {})

/** What was queued in the moment in which the run ended begins the next one. */
export function goOn(live: LiveSession): void {
  const next = isBusy(live) || live.isStopping ? null : live.lanes.next()
  if (!next) return
  const { content, origin, queue_id: queued, idempotency_key: key } = next
  startRun(live, { content, origin, queued, key }, () => {}).catch(() => {}) // it stays queued
}

export const steer: Handler<'steer'> = (command, context) => queue('steer', command, context)
export const followUp: Handler<'follow_up'> = (command, context) => queue('follow_up', command, context)

export const unqueue: Handler<'unqueue'> = async ({ queue_id }, { live }) => {
  const removed = await live.lanes.remove(queue_id)
  return { removed, ...live.lanes.shown() }
}
