/** After the key is gone: no byte of what was said is on the disk in any form, and no store opens it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { systemClock, systemRandom } from '@beige/protocol'
import { answer, finished, prompt, sessionId, started } from '../../test/sample-records.ts'
import { createFilesStore } from '../files/index.ts'
import type { RewrappableStore } from '../store.ts'
import { createSealing } from './sealing.ts'

const MARKS = [
  'title',
  'cwd',
  'model',
  'meta',
  'prompt',
  'answer',
  'result',
  'label',
  'setting',
  'trashed',
  'renamed',
]
const mark = (name: string) => `MARK-${name}-größe-漢字`

function storeWith(root: string, dek: Buffer | null): RewrappableStore {
  const sealing = dek && createSealing({ tenant: 't', keys: [dek], random: systemRandom })
  return createFilesStore({ root, clock: systemClock, random: systemRandom, ...(sealing ? { sealing } : {}) })
}

async function live(root: string, dek: Buffer | null): Promise<void> {
  const store = storeWith(root, dek)
  const first = {
    id: sessionId('s_1'),
    cwd: mark('cwd'),
    model: mark('model'),
    title: mark('title'),
    meta: { m: mark('meta') },
  }
  const log = await store.create(first, prompt('e1', null, mark('prompt')))
  await log.append(answer('e2', 'e1', ['c1'], mark('answer')), started('c1'))
  await log.append(finished('c1', mark('result')), { type: 'label', target_id: 'e1', label: mark('label') })
  await log.append({ type: 'setting', name: 'title', value: mark('renamed') })
  await log.append({ type: 'setting', name: 'note', value: mark('setting') })
  await log.close()
  await (await store.create({ id: sessionId('s_2'), cwd: '/' }, prompt('e1', null, mark('trashed')))).close()
  await store.remove(sessionId('s_2'))
  // A torn tail and a flipped byte, so that quarantines are written.
  const path = join(root, 's_1', '000001.jsonl')
  const bytes = await readFile(path)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 120) ^ 4, bytes.length - 120)
  await writeFile(path, Buffer.concat([bytes, Buffer.from('e2.half')]))
  const again = await store.open(sessionId('s_1'))
  assert.ok(again.damage.length > 0)
  await store.list({ limit: 10 })
  await store.close()
}

async function bytesBelow(root: string): Promise<Buffer> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Buffer.concat([
    ...(await Promise.all(files.map(file => readFile(file)))),
    Buffer.from(files.join('\n')),
  ])
}

/** In every form that a part of us could have written it. */
function formsOf(text: string): Buffer[] {
  const utf8 = Buffer.from(text)
  const base64 = [0, 1, 2].map(shift => {
    const encoded = Buffer.concat([Buffer.alloc(shift), utf8]).toString('base64')
    return encoded.slice(4, -4) // what does not depend on its neighbours
  })
  const escaped = JSON.stringify(text).replace(
    /[^ -~]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const forms = [text, escaped.slice(1, -1), utf8.toString('hex'), encodeURIComponent(text), ...base64]
  return [...forms.map(form => Buffer.from(form)), Buffer.from(text, 'utf16le'), deflateSync(utf8)]
}

test('no byte of a sealed session is readable without its key, and the plain form of the test sees each mark', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beige-erase-'))
  try {
    const [plainRoot, root] = [join(folder, 'plain'), join(folder, 'sealed')]
    const dek = randomBytes(32)
    await live(plainRoot, null)
    await live(root, dek)
    const [plain, sealed] = [await bytesBelow(plainRoot), await bytesBelow(root)]
    for (const name of MARKS) {
      assert.ok(
        formsOf(mark(name)).some(form => plain.includes(form)),
        `${name} is not seen where it is`,
      )
      for (const form of formsOf(mark(name))) assert.equal(sealed.indexOf(form), -1, name)
    }
    assert.ok(!sealed.includes('MARK-') && !sealed.includes('"prompt"') && !sealed.includes('größe'))
    dek.fill(0) // destroyed
    for (const other of [null, randomBytes(32)]) {
      const store = storeWith(root, other)
      await assert.rejects(store.read(sessionId('s_1')), { code: 'no_key' })
      await assert.rejects(store.open(sessionId('s_1')), { code: 'no_key' })
      assert.deepEqual(
        (await store.list({ limit: 10 })).rows.map(row => [row.id, row.title]),
        [['s_1', '']],
      )
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
