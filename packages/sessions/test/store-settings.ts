/** The stores as the shared suite runs them: several processes over one place, under one time that the test moves. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandom } from '@beige/protocol'
import { createFilesStore } from '../src/files/index.ts'
import { createMemoryStore, createMemoryVault } from '../src/memory-store.ts'
import { nodeDisk } from '../src/node-world.ts'
import { createPostgresStore } from '../src/postgres/index.ts'
import { migratePostgres } from '../src/postgres/migrate.ts'
import { createSealing, type Sealing } from '../src/sealing/sealing.ts'
import type { SessionStore } from '../src/store.ts'
import { createManualTime, type ManualTime } from './manual-time.ts'
import { createRealTime } from './real-time.ts'
import { seededRandom } from './sample-records.ts'

/** One process: paused, it neither beats nor comes back before it is thawed. */
export type FakeProcess = { store: SessionStore; pause(): void; resume(): void }

export type StoreSetting = {
  time: ManualTime
  process(): FakeProcess
  dispose(): Promise<void>
}

export const storeSettings: Readonly<Record<string, () => Promise<StoreSetting>>> = {
  async memory() {
    const time = createManualTime()
    const vault = createMemoryVault()
    return settingOf(time, parts => createMemoryStore({ ...parts, vault }))
  },
  files: () => filesSetting(),
  'files, sealed': () => filesSetting(true),
}

async function filesSetting(isSealed = false): Promise<StoreSetting> {
  const time = createManualTime()
  const root = await mkdtemp(join(tmpdir(), 'beige-sessions-'))
  const setting = settingOf(time, parts =>
    createFilesStore({ ...parts, root: join(root, 'sessions'), disk: nodeDisk, ...sealed(isSealed) }),
  )
  return {
    ...setting,
    async dispose() {
      await setting.dispose()
      await rm(root, { recursive: true })
    },
  }
}

function sealed(isSealed: boolean): { sealing?: Sealing } {
  if (!isSealed) return {}
  const keys = [Buffer.alloc(32, 7)]
  return { sealing: createSealing({ tenant: 't-1', keys, random: systemRandom }) }
}

/** In a database of its own. */
export async function postgresSetting(url: string, isSealed = false): Promise<StoreSetting> {
  await migratePostgres(url)
  return settingOf(createRealTime(), parts => createPostgresStore({ ...parts, url, ...sealed(isSealed) }))
}

type Given = Pick<Parameters<typeof createMemoryStore>[0], 'clock' | 'random'> & {
  ticker: ReturnType<ManualTime['ticker']>
}

function settingOf(time: ManualTime, make: (parts: Given) => SessionStore): StoreSetting {
  let seed = 1
  const stores: SessionStore[] = []
  return {
    time,
    process() {
      const ticker = time.ticker()
      const store = make({ clock: time.clock, random: seededRandom(seed++), ticker })
      stores.push(store)
      return { store, pause: ticker.freeze, resume: ticker.thaw }
    },
    async dispose() {
      for (const store of stores) await store.close()
    },
  }
}
