/** One page out of 100,000 sessions: the newest, a search, and the first page of a process that has seen nothing yet. */
import { join } from 'node:path'
import { systemClock, systemRandom } from '@beige/protocol'
import {
  createFilesStore,
  createPostgresStore,
  type Disk,
  nodeDisk,
  type SessionStore,
} from '@beige/sessions'
import pg from 'pg'
import type { BenchContext, Row } from '../bench.ts'
import { rounded } from '../output.ts'
import { quantile } from '../quantile.ts'
import type { Stores } from './subject.ts'

const COUNT = 100_000
const CWDS = 50
const PAGE = 50
const ROUNDS = 40
const AT_ONCE = 100
const outside = { clock: systemClock, random: systemRandom }

export async function listingRows({ folder, postgres }: Stores, context: BenchContext): Promise<Row[]> {
  const { say, rounds = ROUNDS } = context
  say(`${COUNT} sessions on files`)
  const root = join(folder, 'many')
  await manySessions(root)
  const files = () => createFilesStore({ root, ...outside })
  const rows = [await listingRow(`list-${COUNT}-files`, files, rounds)]
  if (postgres) {
    say(`${COUNT} sessions on postgres`)
    const url = await postgres.newDatabase()
    await fillTable(url)
    rows.push(
      await listingRow(`list-${COUNT}-postgres`, () => createPostgresStore({ url, ...outside }), rounds),
    )
  }
  return rows
}

async function listingRow(name: string, open: () => SessionStore, rounds: number): Promise<Row> {
  const store = open()
  try {
    const first = await timed(() => store.list({ limit: PAGE }))
    const pages: number[] = []
    const searches: number[] = []
    const directories: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      pages.push(await timed(() => store.list({ limit: PAGE, offset: round * PAGE })))
      directories.push(await timed(() => store.list({ limit: PAGE, cwd: `/projects/p${round}` })))
      searches.push(await timed(() => store.list({ limit: PAGE, text: `task ${round + 1}7` })))
    }
    return {
      name,
      page_p50_ms: rounded(quantile(pages, 0.5)),
      page_p99_ms: rounded(quantile(pages, 0.99)),
      of_directory_p50_ms: rounded(quantile(directories, 0.5)),
      search_p50_ms: rounded(quantile(searches, 0.5)),
      first_ms: rounded(first),
    }
  } finally {
    await store.close()
  }
}

async function timed(action: () => Promise<{ total: number; rows: readonly unknown[] }>): Promise<number> {
  const sinceMs = performance.now()
  const { rows } = await action()
  if (rows.length === 0) throw new Error('the page is empty')
  return performance.now() - sinceMs
}

/** Made by the store itself, on a disk that is told nothing of being durable: only what is read afterwards is measured. */
async function manySessions(root: string): Promise<void> {
  const store = createFilesStore({ root, disk: hasty, ...outside })
  for (let next = 0; next < COUNT; next += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, index) => next + index)
    await Promise.all(
      numbers.map(async number => {
        const title = `task ${number}`
        const log = await store.create({ id: `s_${number}`, cwd: `/projects/p${number % CWDS}`, title })
        await log.close()
      }),
    )
  }
  await store.close()
}

const hasty: Disk = {
  ...nodeDisk,
  async syncDirectory() {},
  async create(path) {
    const file = await nodeDisk.create(path)
    return file && { ...file, async sync() {} }
  },
}

async function fillTable(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(
      `INSERT INTO sessions (tenant, id, epoch, last_seq, prev, title, cwd, model, created_at, updated_at,
         message_count, meta, search)
       SELECT 'local', 's_' || n, 1, 1, '', 'task ' || n, '/projects/p' || n % ${CWDS}, 'm', n, n, 2, '{}',
         'task ' || n || chr(10) || 's_' || n || chr(10) || '/projects/p' || n % ${CWDS}
       FROM generate_series(0, ${COUNT - 1}) AS n`,
    )
    await client.query('VACUUM ANALYZE sessions') // as the server does by itself some time after
  } finally {
    await client.end()
  }
}
