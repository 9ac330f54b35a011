/** `install-execd.sh`: what it installs is what was meant, whole and in one step, or nothing. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const SCRIPT = join(import.meta.dirname, '../install-execd.sh')
const PROGRAM = '#!/bin/sh\necho installed\n'
const SUM = createHash('sha256').update(PROGRAM).digest('hex')
const hasTransfer = ['curl', 'wget'].some(name => !spawnSync(name, ['--version'], { stdio: 'ignore' }).error)

function folderOf(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'install-execd-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const source = join(folder, 'source')
  writeFileSync(source, PROGRAM)
  mkdirSync(join(folder, 'bin'))
  return { folder, source, target: join(folder, 'bin/execd') }
}

async function install(...args: string[]) {
  const child = spawn('sh', [SCRIPT, ...args])
  let [out, said] = ['', '']
  child.stdout.on('data', chunk => {
    out += String(chunk)
  })
  child.stderr.on('data', chunk => {
    said += String(chunk)
  })
  const [code] = await once(child, 'close')
  return { code, out, said }
}

test('a file with its checksum is installed, also where the folder is missing', async context => {
  const { folder, source } = folderOf(context)
  const target = join(folder, 'a new/folder/execd')
  assert.deepEqual(await install(source, SUM.toUpperCase(), target), {
    code: 0,
    out: `${target}\n`,
    said: '',
  })
  assert.equal(statSync(target).mode & 0o777, 0o755)
  assert.equal(spawnSync(target, { encoding: 'utf8' }).stdout, 'installed\n')
  assert.equal((await install(source, SUM, target)).out, `${target} (unchanged)\n`)
})

test('another file is refused, and what was there stays', async context => {
  const { folder, source, target } = folderOf(context)
  writeFileSync(target, 'old')
  const { code, said } = await install(source, '0'.repeat(64), target)
  assert.equal(code, 1)
  assert.match(said, /refused: .* has the SHA-256 [0-9a-f]{64}, not 0{64}/)
  assert.equal(readFileSync(target, 'utf8'), 'old')
  assert.deepEqual(readdirSync(join(folder, 'bin')), ['execd'], 'nothing is left beside it')
})

test('a bad word, a file that is not there, a folder in the way: by name, and nothing is made', async context => {
  const { folder, source, target } = folderOf(context)
  for (const [args, code, said] of [
    [[], 2, /^usage/],
    [[source], 2, /^usage/],
    [[source, SUM, target, 'more'], 2, /^usage/],
    [[source, SUM.slice(1), target], 1, /not a SHA-256/],
    [[source, `${SUM.slice(1)};`, target], 1, /not a SHA-256/],
    [[source, SUM, 'relative'], 1, /not an absolute path/],
    [[source, SUM, folder], 1, /a folder is there/],
    [[join(folder, 'none'), SUM, target], 1, /can not read/],
  ] as const) {
    const ended = await install(...args)
    assert.equal(ended.code, code, ended.said)
    assert.match(ended.said, said)
    assert.deepEqual(readdirSync(join(folder, 'bin')), [])
  }
})

test('a link at the target is replaced, not followed', async context => {
  const { folder, source, target } = folderOf(context)
  const other = join(folder, 'other')
  writeFileSync(other, 'old')
  symlinkSync(other, target)
  assert.equal((await install(source, SUM, target)).code, 0)
  assert.equal(readFileSync(other, 'utf8'), 'old')
  assert.equal(statSync(target).mode & 0o777, 0o755)
})

test('a URL, whole or not', { skip: hasTransfer ? false : 'absent: curl (nor wget)' }, async context => {
  const { folder, target } = folderOf(context)
  const server = createServer((request, response) => {
    if (request.url === '/execd') response.end(PROGRAM)
    else if (request.url === '/cut') response.end(PROGRAM.slice(0, 10))
    else response.writeHead(404).end('nothing')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  for (const path of ['/cut', '/none']) {
    assert.equal((await install(`${url}${path}`, SUM, target)).code, 1)
    assert.deepEqual(readdirSync(join(folder, 'bin')), [])
  }
  assert.equal((await install(`${url}/execd`, SUM, target)).code, 0)
  assert.equal(readFileSync(target, 'utf8'), PROGRAM)
})
