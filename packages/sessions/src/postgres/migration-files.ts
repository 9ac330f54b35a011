/** Finds the schema's versioned files: beside this one, or beside the chunks of a bundle. */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fail } from '../errors.ts'

export type Migration = { version: number; name: string; sql: string }

/** The schema that this program works with. */
export const SCHEMA_VERSION = 1

/** Oldest first. */
export async function readMigrations(): Promise<readonly Migration[]> {
  const here = dirname(fileURLToPath(import.meta.url))
  for (const folder of [join(here, 'migrations'), join(here, '../migrations')]) {
    const names = await namesIn(folder)
    if (names.length === 0) continue
    return await Promise.all(
      names.sort().map(async name => ({
        version: Number(name.slice(0, 4)),
        name,
        sql: await readFile(join(folder, name), 'utf8'),
      })),
    )
  }
  throw fail('store_refused', { reason: 'this program came without its migration files' })
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter(name => /^\d{4}-[a-z-]+\.sql$/.test(name))
  } catch {
    return []
  }
}
