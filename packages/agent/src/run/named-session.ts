/** `--session` and `--fork` of `run`: which session a name or a path means, opened as it is or copied to a new one. */
import { newSessionId, type SessionId } from '@beige/protocol'
import { forkPoint, forkSession, readTree } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { RawOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { withPlace, withSession } from '../sessions/place.ts'

/** As commander gives them. */
export type RawRunOptions = RawOptions & { session?: string; fork?: string; export?: string }

/** The same options with `--session-id` in the place of the two. Throws `no_session`, `ambiguous_session`, `no_log`. */
export async function withNamedSession(raw: RawRunOptions, world: ProcessWorld): Promise<RawOptions> {
  const { session, fork, ...rest } = raw
  const given = [
    ...(session === undefined ? [] : ['--session']),
    ...(fork === undefined ? [] : ['--fork']),
    ...(raw.sessionId === undefined ? [] : ['--session-id']),
    ...(raw.continue === true ? ['--continue'] : []),
  ]
  if (session === undefined && fork === undefined) return raw
  if (given.length > 1) {
    throw fail('usage', { reason: `${given.join(' and ')} each name a session`, command: 'run' })
  }
  if (raw.sessionPersistence === false) {
    const reason = '--no-session-persistence keeps nothing that could be opened'
    throw fail('usage', { reason, command: 'run' })
  }
  if (session !== undefined) {
    return withSession(session, raw, world, async ({ id, root, kind }) => ({
      ...rest,
      sessionId: id,
      ...(kind === 'files' ? { sessionDir: root } : {}),
    }))
  }
  return { ...rest, sessionId: await forked(fork ?? '', rest, world) }
}

/** Goes into the store of this start, whatever path the source was named by. */
async function forked(name: string, raw: RawOptions, world: ProcessWorld): Promise<SessionId> {
  const records = await withSession(name, raw, world, ({ id, store }) => store.read(id))
  const tree = readTree(records)
  const id = newSessionId(world.clock, world.random)
  await withPlace(raw, world, async ({ store }) => {
    const point = forkPoint(tree, {})
    const log = await forkSession({ store, tree, id, point, first: { cwd: world.cwd } })
    await log.close()
  })
  return id
}
