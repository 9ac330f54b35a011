import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '@beige/protocol'
import { createManualTime } from '../test/manual-time.ts'
import { prompt, sessionId } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

test('folders have mode 0700 and files 0600, also those that did not exist above the sessions', async () => {
  const place = await mkdtemp(join(tmpdir(), 'beige-modes-'))
  try {
    const root = join(place, 'home', 'sessions')
    const time = createManualTime()
    const store = createFilesStore({ root, clock: time.clock, random: systemRandom, ticker: time.ticker() })
    const log = await store.create({ id: sessionId('s_1'), cwd: '/w' }, prompt('p', null))
    await time.advance(1000)
    await log.close()
    const entries = await readdir(place, { recursive: true, withFileTypes: true })
    assert.ok(entries.length >= 7, `${entries.length} entries`)
    for (const entry of entries) {
      const { mode } = await stat(join(entry.parentPath, entry.name))
      assert.equal((mode & 0o777).toString(8), entry.isDirectory() ? '700' : '600', entry.name)
    }
    await store.close()
  } finally {
    await rm(place, { recursive: true })
  }
})
