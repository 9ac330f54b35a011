/** Loads test files into this process; one that does not load is a failed test, and the others run. */
import { join } from 'node:path'
import test from 'node:test'

const root = join(import.meta.dirname, '../..')

export async function loadTests(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await import(join(root, path))
    } catch (error) {
      test(`${path} loads`, () => {
        throw error
      })
    }
  }
}
