/** `npm run bench -- sessions`: what an acknowledged prompt costs on each store, beside what the disk itself takes. */
import type { Bench } from '../bench.ts'
import { ackRows } from './acks.ts'
import { listingRows } from './listing.ts'
import { openStores, rawFdatasync, sessionsOf } from './subject.ts'
import { turnRows } from './turns.ts'

export const sessionsBench: Bench = {
  name: 'sessions',
  about: 'acknowledged prompts on files and postgres beside raw fdatasync; opening and listing',
  async run(context) {
    await using stores = await openStores(context.say)
    const { folder, files, postgres } = stores
    const subjects = [
      sessionsOf('files', files),
      ...(postgres ? [sessionsOf('postgres', postgres.store)] : []),
      rawFdatasync(folder),
    ]
    return [
      ...(await ackRows(subjects, context)),
      ...(await turnRows(stores, context)),
      ...(await listingRows(stores, context)),
    ]
  },
}
