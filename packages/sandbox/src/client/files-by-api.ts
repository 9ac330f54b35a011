/** File calls over the files API of `exec/2`: one round trip each, paths as fields, bytes raw. */
import { fail } from '../errors.ts'
import type { FileCalls } from '../exec-client.ts'
import { errorOf, parseFileStat, parseList, refusal } from './answers.ts'
import { plainWords } from './script-failure.ts'
import { SILENCE_MS, type Transport, type WholeAnswer } from './transport.ts'

export const MAX_FILE_BYTES = 64 * 1024 * 1024 // read or written at once; larger ones in ranges
export const MAX_LIST_DEPTH = 64
export const MAX_LIST_ENTRIES = 10_000
const MAX_STAT_BYTES = 64 * 1024
const MAX_LIST_BYTES = 16 * 1024 * 1024

export function filesByApi(transport: Transport): FileCalls {
  const { name } = transport

  async function call(
    method: 'GET' | 'PUT' | 'DELETE',
    resource: string,
    query: Readonly<Record<string, string | number>>,
    signal: AbortSignal,
    maxBytes: number,
    extra: { headers?: Readonly<Record<string, string>>; body?: Uint8Array } = {},
  ): Promise<WholeAnswer> {
    const pairs = Object.entries(query).map(([key, value]) => `${key}=${encodePath(String(value))}`)
    const wire = { method, path: `/${resource}?${pairs.join('&')}`, silenceMs: SILENCE_MS, ...extra }
    const answer = await transport.send(wire, signal, maxBytes)
    if (answer.status < 300 || answer.status === 416) return answer
    throw fileError(answer, String(query.path ?? ''), method)
  }

  function fileError(answer: WholeAnswer, path: string, method: string) {
    const error = errorOf(answer)
    if (answer.status === 412) return fail('file_changed', { path })
    if (error?.code === 'not_found') return fail('file_not_found', { path })
    // Of a removal, `conflict` is a directory that is not empty.
    const isRefused = error?.code === 'bad_request' || (error?.code === 'conflict' && method === 'DELETE')
    if (error && isRefused) {
      return fail('file_refused', { path, message: plainWords(error.message), status: answer.status })
    }
    return refusal(answer, name)
  }

  return {
    async readFile(path, signal, range) {
      if (range && range.end <= range.start) {
        // No header says "nothing", and what is asked for beside the bytes still has an answer.
        const whole = await call('GET', 'files', { path }, signal, MAX_FILE_BYTES, {
          headers: { range: 'bytes=0-0' },
        })
        return { ...contentOf(whole), bytes: new Uint8Array(0) }
      }
      const headers = range ? { range: `bytes=${range.start}-${range.end - 1}` } : {}
      return contentOf(await call('GET', 'files', { path }, signal, MAX_FILE_BYTES, { headers }))
    },

    async writeFile(path, bytes, signal, options = {}) {
      const { ifMatch, mode, parents } = options
      const headers = {
        'content-type': 'application/octet-stream',
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
        ...(mode === undefined ? {} : { 'x-file-mode': mode.toString(8) }),
      }
      const query = { path, ...(parents ? { parents: 1 } : {}) }
      const answer = await call('PUT', 'files', query, signal, MAX_STAT_BYTES, { headers, body: bytes })
      return { etag: answer.headers.etag ?? '', created: answer.status === 201 }
    },

    async stat(path, signal) {
      return parseFileStat(await call('GET', 'stat', { path }, signal, MAX_STAT_BYTES), name)
    },

    async list(path, signal, options = {}) {
      const depth = Math.min(options.depth ?? 1, MAX_LIST_DEPTH)
      const limit = Math.min(options.limit ?? MAX_LIST_ENTRIES, MAX_LIST_ENTRIES)
      const answer = await call('GET', 'list', { path, depth, limit }, signal, MAX_LIST_BYTES)
      return parseList(answer, name)
    },

    async remove(path, signal) {
      await call('DELETE', 'files', { path }, signal, MAX_STAT_BYTES)
    },
  }

  function contentOf(answer: WholeAnswer) {
    const { headers, bytes, status } = answer
    const total = Number(headers['content-range']?.split('/').at(-1) ?? bytes.length)
    const mode = Number.parseInt(String(headers['x-file-mode'] ?? ''), 8)
    if (!Number.isSafeInteger(total) || !Number.isSafeInteger(mode) || headers.etag === undefined) {
      throw fail('endpoint_wrong', { endpoint: name, reason: 'a file without its size, mode or etag' })
    }
    return { bytes: status === 416 ? new Uint8Array(0) : bytes, etag: headers.etag, mode, size: total }
  }
}

function encodePath(path: string): string {
  if (path.includes('\0') || !path.isWellFormed()) throw fail('bad_path', { path: JSON.stringify(path) })
  return encodeURIComponent(path)
}
