/** `agent sessions rewrap`: moves all sessions of a tenant to the newest key, also those that were never sealed. */
import { plural, visible } from '@beige/client'
import type { SessionId } from '@beige/protocol'
import { createFilesStore, createPostgresStore } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { ProcessWorld } from '../process-world.ts'
import { openSealing } from '../sealing-choice.ts'
import { chosen, type PlaceOptions } from './place.ts'

export async function rewrapCommand(raw: PlaceOptions, world: ProcessWorld): Promise<number> {
  const options = chosen(raw, world)
  if (!options.sealing) {
    const reason = 'it is missing'
    throw fail('bad_value', {
      name: '--dek-file',
      reason,
      expected: 'the file of the key that sessions move to',
    })
  }
  const { store: choice } = options
  if (choice.kind === 'memory') {
    const reason = 'nothing of memory is at rest'
    throw fail('bad_value', { name: '--store', reason, expected: 'files or postgres://host/database' })
  }
  const sealing = await openSealing(options.sealing, world, { readsPlain: true })
  const { clock, random } = world
  const store =
    choice.kind === 'files'
      ? createFilesStore({ root: options.sessionDir, clock, random, sealing })
      : createPostgresStore({ url: choice.url, clock, random, sealing, tenant: sealing.tenant })
  const moved: SessionId[] = []
  let count = 0
  try {
    const { unfolded } = await store.rewrap(({ id, isMoved }) => {
      count++
      if (isMoved) moved.push(id)
    })
    const report = {
      kid: sealing.kid,
      tenant: sealing.tenant,
      sessions: count,
      moved,
      live_indexes: unfolded,
    }
    world.stdout.write(
      raw.json === true
        ? `${JSON.stringify(report)}\n`
        : `${visible(`${moved.length} of ${plural(count, 'session')} moved to key ${sealing.kid}`)}\n`,
    )
    if (unfolded === 0) return 0
    world.stderr.write(
      `${plural(unfolded, 'process')} of this folder still runs with the keys it was started with; restart and rewrap again\n`,
    )
    return 1
  } finally {
    await store.close()
  }
}
