/** The file calls of the page, on this machine's own files. */
import { randomUUID } from 'node:crypto'
import { createWriteStream, type Stats } from 'node:fs'
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Has } from './defects.ts'
import { Refusal, readBody, sendJson } from './wire.ts'

const CUT_AT = 1024 * 1024
const DEFAULT_LIMIT = 1000

export type FileCall = {
  request: IncomingMessage
  response: ServerResponse
  query: URLSearchParams
  root: string
  has: Has
  maxBytes: number
}

export async function answerFile({ request, response, query, root, has, maxBytes }: FileCall): Promise<void> {
  const path = resolve(root, query.get('path') ?? '')
  switch (request.method) {
    case 'GET':
      return await get(path, request, response, has)
    case 'PUT':
      return await put(path, { request, response, query, root, has, maxBytes })
    default:
      await remove(path, has)
      sendJson(response, 200, {})
  }
}

export async function answerStat({ response, query, root }: FileCall): Promise<void> {
  const path = resolve(root, query.get('path') ?? '')
  sendJson(response, 200, await describe(path))
}

export async function answerList({ response, query, root, has }: FileCall): Promise<void> {
  const folder = resolve(root, query.get('path') ?? '')
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  const names = await walk(folder, '', Number(query.get('depth') ?? 1))
  if (has('lists_unsorted')) names.reverse()
  const entries = await Promise.all(
    names.slice(0, limit).map(async path => ({ path, ...(await describe(join(folder, path))) })),
  )
  sendJson(response, 200, { entries, truncated: names.length > limit })
}

async function get(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  has: Has,
): Promise<void> {
  const found = await about(path)
  if (kindOf(found) === 'fifo' && has('waits_at_fifos')) return
  requireFile(path, found)
  const bytes = await readFile(path)
  const headers = {
    etag: etagOf(found),
    'x-file-kind': 'file',
    'x-file-mode': (found.mode & 0o7777).toString(8).padStart(4, '0'),
  }
  const [, first = '', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? []
  if (first === '') return void response.writeHead(200, headers).end(bytes)
  if (Number(first) >= bytes.length) throw new Refusal('bad_request', 'behind the end', 416)
  const end = last === '' ? bytes.length : Number(last) + (has('ranges_are_exclusive') ? 0 : 1)
  response.writeHead(206, headers).end(bytes.subarray(Number(first), end))
}

async function put(path: string, { request, response, query, has, maxBytes }: FileCall): Promise<void> {
  const target = has('replaces_symlinks') ? path : await followed(path)
  if (query.get('parents') === '1' || has('always_makes_parents')) {
    await mkdir(dirname(target), { recursive: true })
  }
  const old = await stat(target).catch(() => null)
  if (old) requireFile(path, old)
  else await about(dirname(target))
  const wanted = request.headers['if-match']
  if (wanted !== undefined && !has('ignores_if_match') && (!old || etagOf(old) !== wanted)) {
    throw new Refusal('conflict', 'the file is another by now', 412)
  }
  const asked = request.headers['x-file-mode']
  const kept = old && !has('resets_mode') ? old.mode & 0o7777 : 0o644
  const mode = asked === undefined ? kept : Number.parseInt(String(asked), 8)
  if (has('writes_in_place')) await pour(request, target)
  else {
    const body = await readBody(request, maxBytes)
    const bytes = has('cuts_files') ? body.subarray(0, CUT_AT) : body
    const temporary = `${target}.${randomUUID()}`
    await writeFile(temporary, bytes)
    await chmod(temporary, mode)
    await rename(temporary, target)
  }
  await chmod(target, mode)
  response.setHeader('etag', etagOf(await stat(target)))
  sendJson(response, old ? 200 : 201, await describe(target))
}

async function pour(request: IncomingMessage, target: string): Promise<void> {
  const file = await open(target, 'w')
  const out = createWriteStream(target, { fd: file })
  try {
    for await (const part of request) {
      out.write(part)
      await wait(1) // a reader gets its turn
    }
  } catch {
    // its sender has gone; what came is in the file
  }
  await new Promise<void>(resolve => out.end(resolve))
}

async function remove(path: string, has: Has): Promise<void> {
  const found = await about(path, true)
  if (!found.isDirectory()) return await unlink(path)
  if (has('deletes_whole_folders')) return await rm(path, { recursive: true })
  await rmdir(path).catch(() => {
    throw new Refusal('conflict', `${path} is not empty`)
  })
}

async function walk(folder: string, below: string, depth: number): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true })
  const sorted = entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
  const lists = sorted.map(async entry => {
    const path = join(below, entry.name)
    return [path, ...(entry.isDirectory() && depth > 1 ? await walk(folder, path, depth - 1) : [])]
  })
  return (await Promise.all(lists)).flat()
}

async function describe(path: string): Promise<object> {
  const found = await about(path, true)
  const target = found.isSymbolicLink() ? { target: await readlink(path) } : {}
  const { size, mtimeMs, mode } = found
  return { kind: kindOf(found), size, mtime_ms: Math.floor(mtimeMs), mode: mode & 0o7777, ...target }
}

async function about(path: string, ofLink = false): Promise<Stats> {
  return await (ofLink ? lstat(path) : stat(path)).catch(() => {
    throw new Refusal('not_found', `${path} is not there`)
  })
}

async function followed(path: string): Promise<string> {
  const target = await readlink(path).catch(() => null)
  return target === null ? path : resolve(dirname(path), target)
}

function requireFile(path: string, found: Stats): void {
  if (!found.isFile()) throw new Refusal('bad_request', `${path} is a ${kindOf(found)} and not a file`)
}

function kindOf(found: Stats): string {
  if (found.isFile()) return 'file'
  if (found.isDirectory()) return 'directory'
  if (found.isSymbolicLink()) return 'symlink'
  if (found.isFIFO()) return 'fifo'
  return found.isSocket() ? 'socket' : 'device'
}

function etagOf({ size, mtimeMs, ino }: Stats): string {
  return `"${size}-${mtimeMs}-${ino}"`
}
