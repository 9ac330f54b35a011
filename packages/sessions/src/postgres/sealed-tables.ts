/**
 * The listing columns of sealed sessions: title and facts are sealed in them, what the database itself has to compare
 * (id, directory, model, times) is not. A search by text therefore opens all titles of the tenant here.
 */
import { compile, map, unknown } from '@earendil-works/pi-schema'
import { pageOf } from '../listing-page.ts'
import type { Sealing } from '../sealing/sealing.ts'
import type { ListQuery, SessionRow } from '../store.ts'
import type { SessionTables } from './tables.ts'

const PAGE = 1000

export function sealedTables(tables: SessionTables, sealing: Sealing): SessionTables {
  const sealed = (row: SessionRow): SessionRow => ({
    ...row,
    title: row.title === '' ? '' : sealing.sealText(row.title),
    meta: { sealed: sealing.sealText(JSON.stringify(row.meta)) },
  })
  const opened = (row: SessionRow): SessionRow => ({
    ...row,
    title: sealing.openText(row.title) ?? '',
    meta: metaOf(typeof row.meta.sealed === 'string' ? sealing.openText(row.meta.sealed) : null),
  })

  async function all(query: Omit<ListQuery, 'limit' | 'offset'>): Promise<SessionRow[]> {
    const found: SessionRow[] = []
    for (let offset = 0; ; offset += PAGE) {
      const { rows } = await tables.page({ ...query, limit: PAGE, offset })
      found.push(...rows.map(opened))
      if (rows.length < PAGE) return found
    }
  }

  return {
    ...tables,
    create: (id, owner, encoded, row) => tables.create(id, owner, encoded, sealed(row)),
    append: (id, before, encoded, row) => tables.append(id, before, encoded, row && sealed(row)),
    rewrite: (id, before, encoded, row) => tables.rewrite(id, before, encoded, sealed(row)),
    release: (id, head, row) => tables.release(id, head, row && sealed(row)),
    async page(query) {
      const { text, cwd } = query
      if (text) return pageOf(await all(cwd === undefined ? {} : { cwd }), query)
      const page = await tables.page(query)
      return { ...page, rows: page.rows.map(opened) }
    },
  }
}

const metaSchema = compile(map(unknown()))

function metaOf(text: string | null): SessionRow['meta'] {
  const value: unknown = text === null ? {} : JSON.parse(text)
  return metaSchema.check(value) ? value : {}
}
