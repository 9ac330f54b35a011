/** The same file calls by the API of execd and by commands: what holds for one holds for the other. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from '../../test/machine.ts'
import { sh, testOnDrivers } from '../../test/machine.ts'
import type { FileCalls } from '../exec-client.ts'
import { filesByCommand } from './files-by-command.ts'

const HOSTILE = [
  'a b',
  "it's",
  '"; touch pwned; "',
  '$(touch pwned)',
  '`touch pwned`',
  '-n',
  '--help',
  'new\nline',
  'tail\n',
  '漢字 ä',
  '*',
  'a%2Fb&c=d#e?f',
  '~',
  'back\\slash',
]
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8')
const bytes = (value: string) => new TextEncoder().encode(value)

type Cases = Readonly<Record<string, (files: FileCalls, bench: Bench, base: string) => Promise<void>>>
const CASES: Cases = {
  async 'hostile names are names'(files, { signal }, base) {
    for (const name of HOSTILE) {
      const path = `${base}/${name}`
      assert.equal((await files.writeFile(path, bytes(name), signal)).created, true, name)
      assert.equal(text((await files.readFile(path, signal)).bytes), name)
      assert.equal((await files.stat(path, signal)).kind, 'file', name)
    }
    const { entries } = await files.list(base, signal)
    assert.deepEqual(entries.map(entry => entry.path).sort(), [...HOSTILE].sort())
    for (const name of HOSTILE) await files.remove(`${base}/${name}`, signal)
    assert.deepEqual((await files.list(base, signal)).entries, [])
  },

  async 'all byte values and eight megabytes come back'(files, { signal }, base) {
    const large = Buffer.alloc(8 * 1024 * 1024, Buffer.from(Array.from({ length: 256 }, (_none, at) => at)))
    await files.writeFile(`${base}/large`, large, signal)
    const read = await files.readFile(`${base}/large`, signal)
    assert.ok(large.equals(read.bytes))
    assert.equal(read.size, large.length)
    const part = await files.readFile(`${base}/large`, signal, { start: 300, end: 310 })
    assert.deepEqual([...part.bytes], [...large.subarray(300, 310)])
    assert.equal(part.size, large.length)
  },

  async 'a range may lie behind the end, and a file may be empty'(files, { signal }, base) {
    await files.writeFile(`${base}/five`, bytes('12345'), signal)
    assert.equal(text((await files.readFile(`${base}/five`, signal, { start: 3, end: 99 })).bytes), '45')
    assert.equal((await files.readFile(`${base}/five`, signal, { start: 2, end: 2 })).size, 5)
    await files.writeFile(`${base}/empty`, bytes(''), signal)
    assert.deepEqual((await files.readFile(`${base}/empty`, signal)).bytes.length, 0)
  },

  async 'a write keeps the mode, follows a link, and makes parents when asked'(
    files,
    { signal, folder },
    base,
  ) {
    const at = (name: string) => join(folder, 'workspace', base, name)
    await files.writeFile(`${base}/script`, bytes('1'), signal, { mode: 0o755 })
    assert.equal((await files.writeFile(`${base}/script`, bytes('2'), signal)).created, false)
    assert.equal(statSync(at('script')).mode & 0o777, 0o755)
    symlinkSync('script', at('link'))
    await files.writeFile(`${base}/link`, bytes('3'), signal)
    assert.equal(readFileSync(at('script'), 'utf8'), '3')
    const link = await files.stat(`${base}/link`, signal)
    assert.deepEqual([link.kind, link.target], ['symlink', 'script'])
    await assert.rejects(files.writeFile(`${base}/x/y/z`, bytes(''), signal), { code: 'file_not_found' })
    await files.writeFile(`${base}/x/y/z`, bytes(''), signal, { parents: true })
    assert.equal(statSync(at('x/y/z')).size, 0)
  },

  async 'a file that has changed since is not overwritten'(files, { signal }, base) {
    const { etag } = await files.writeFile(`${base}/seen`, bytes('one'), signal)
    assert.equal((await files.readFile(`${base}/seen`, signal)).etag, etag)
    await files.writeFile(`${base}/seen`, bytes('three'), signal, { ifMatch: etag })
    const late = files.writeFile(`${base}/seen`, bytes('four'), signal, { ifMatch: etag })
    await assert.rejects(late, { code: 'file_changed' })
    assert.equal(text((await files.readFile(`${base}/seen`, signal)).bytes), 'three')
  },

  async 'what is no file is named and never waited for'(files, { signal, folder }, base) {
    await files.writeFile(`${base}/dir/file`, bytes(''), signal, { parents: true })
    for (const path of [`${base}/dir`, '/dev/zero']) {
      await assert.rejects(files.readFile(path, signal), { code: 'file_refused' }, path)
      await assert.rejects(files.writeFile(path, bytes(''), signal), { code: 'file_refused' }, path)
    }
    await new Promise(resolve => execFile('mkfifo', [join(folder, 'workspace', base, 'fifo')], resolve))
    await assert.rejects(files.readFile(`${base}/fifo`, signal), { code: 'file_refused' })
    await assert.rejects(files.remove(`${base}/dir`, signal), { code: 'file_refused' })
    for (const call of [files.readFile, files.stat, files.list, files.remove]) {
      await assert.rejects(call(`${base}/nothing`, signal), { code: 'file_not_found' })
    }
    for (const path of ['a\0b', '\ud800'])
      await assert.rejects(files.stat(path, signal), { code: 'bad_path' })
  },

  async 'a list is sorted, deep as asked, and says when it is cut'(files, { signal }, base) {
    for (const name of ['b', 'a/2', 'a/1', 'c']) {
      await files.writeFile(`${base}/${name}`, bytes(name), signal, { parents: true })
    }
    const deep = await files.list(base, signal, { depth: 2 })
    assert.deepEqual(
      deep.entries.map(entry => entry.path),
      ['a', 'a/1', 'a/2', 'b', 'c'],
    )
    assert.equal(deep.truncated, false)
    const cut = await files.list(base, signal, { limit: 2 })
    assert.deepEqual([cut.entries.map(entry => entry.path), cut.truncated], [['a', 'b'], true])
  },
}

for (const [title, body] of Object.entries(CASES)) {
  testOnDrivers(title, async bench => {
    const { exec } = await bench.open()
    const ways: Readonly<Record<string, FileCalls>> = {
      api: exec,
      commands: filesByCommand((command, signal) => exec.run(command, signal), 'test'),
    }
    for (const [base, files] of Object.entries(ways)) {
      await sh(exec, 'mkdir "$1"', bench.signal, base)
      await body(files, bench, base)
    }
  })
}

testOnDrivers(
  'the naive form shows the hazard: a path in the text of a script runs',
  async ({ open, signal, folder }) => {
    const { exec } = await open()
    writeFileSync(join(folder, 'workspace', 'note'), '')
    const path = 'note; touch pwned'
    await sh(exec, `cat ${path}`, signal)
    assert.equal((await exec.stat('pwned', signal)).kind, 'file')
  },
  ['host'],
)
