/** Files: their bytes, what they are, and what is in a folder. */
import { type Bench, expectRefused, field, jsonOf } from '../bench.ts'
import { type Check, expect, expectBytes, expectEqual } from '../check.ts'

const EIGHT_MIB = 8 * 1024 * 1024

export const fileChecks: readonly Check[] = [
  {
    name: 'file round trip of 8 MiB',
    features: ['files'],
    async run(bench) {
      const bytes = Buffer.alloc(EIGHT_MIB, Buffer.from(bench.random.bytes(65_521)))
      const put = await bench.send('PUT', at(bench.path('big file é')), { body: bytes })
      expect(put.status === 200 || put.status === 201, `the status of PUT is ${put.status}`)
      const got = await bench.send('GET', at(bench.path('big file é')))
      expectEqual('the status of GET', got.status, 200)
      expectBytes('the file', got.body, bytes)
      expectEqual('X-File-Kind', got.headers['x-file-kind'], 'file')
      expect(typeof got.headers.etag === 'string', 'no ETag')
      const absent = await bench.send('GET', at(bench.path('absent')))
      expectRefused('a file that is absent', absent, 404, 'not_found')
    },
  },
  {
    name: 'range of a file',
    features: ['files'],
    async run(bench) {
      const path = at(bench.path('ten'))
      await bench.send('PUT', path, { body: '0123456789' })
      const range = async (value: string) => {
        const { status, body } = await bench.send('GET', path, { headers: { range: value } })
        return [status, body.toString()]
      }
      expectEqual('bytes 2 to 4', await range('bytes=2-4'), [206, '234'])
      expectEqual('from byte 7', await range('bytes=7-'), [206, '789'])
      expectEqual('to behind the end', await range('bytes=8-99'), [206, '89'])
      expectEqual('behind the end', (await range('bytes=10-12'))[0], 416)
    },
  },
  {
    name: 'fifo refused',
    limitMs: 15_000,
    features: ['files'],
    programs: ['sh', 'mkfifo'],
    async run(bench) {
      const path = bench.path('fifo')
      expectEqual('mkfifo', (await bench.run(bench.sh('mkfifo "$1"', path))).exitCode, 0)
      for (const method of ['GET', 'PUT']) {
        const reply = await bench.send(method, at(path), method === 'PUT' ? { body: 'x' } : {})
        expectRefused(`${method} of a fifo`, reply, 400, 'bad_request')
        expect(reply.body.toString().includes('fifo'), `the refusal of ${method} does not name the kind`)
      }
    },
  },
  {
    name: 'directory and device refused',
    features: ['files'],
    async run(bench) {
      const path = `${bench.path('folder')}/file`
      await bench.send('PUT', at(path, '&parents=1'), { body: 'x' })
      for (const [named, kind] of [
        [bench.path('folder'), 'directory'],
        ['/dev/null', 'device'],
      ] as const) {
        const reply = await bench.send('GET', at(named))
        expectRefused(`GET of a ${kind}`, reply, 400, 'bad_request')
        expect(reply.body.toString().includes(kind), `the refusal of a ${kind} does not name it`)
      }
    },
  },
  {
    name: 'stat names kind, size, mode and target',
    features: ['files'],
    programs: ['sh', 'ln', 'mkfifo'],
    async run(bench) {
      const [file, link, fifo] = [bench.path('file'), bench.path('link'), bench.path('fifo')]
      await bench.send('PUT', at(file), { body: 'four', headers: { 'x-file-mode': '0640' } })
      await bench.run(bench.sh('ln -s "$1" "$2"; mkfifo "$3"', file, link, fifo))
      const stat = (path: string) => bench.send('GET', `/stat?path=${encodeURIComponent(path)}`)
      const found = jsonOf(await stat(file))
      expectEqual('kind', field(found, 'kind'), 'file')
      expectEqual('size and mode', [field(found, 'size'), field(found, 'mode')], [4, 0o640])
      expect(typeof field(found, 'mtime_ms') === 'number', 'no mtime_ms')
      const linked = jsonOf(await stat(link))
      expectEqual('a link', [field(linked, 'kind'), field(linked, 'target')], ['symlink', file])
      expectEqual('the kind of a fifo', field(jsonOf(await stat(fifo)), 'kind'), 'fifo')
      expectEqual('the kind of a folder', field(jsonOf(await stat('/')), 'kind'), 'directory')
      expectRefused('what is absent', await stat(bench.path('absent')), 404, 'not_found')
    },
  },
  {
    name: 'list sorted and truncated',
    features: ['files'],
    async run(bench) {
      const folder = bench.path('folder')
      for (const name of ['b', 'a', 'c/d', '.hidden']) {
        await bench.send('PUT', at(`${folder}/${name}`, '&parents=1'), { body: name })
      }
      expectEqual('depth 1', await listed(bench, folder, 'depth=1&limit=10'), [
        '.hidden',
        'a',
        'b',
        'c',
        false,
      ])
      const deep = await listed(bench, folder, 'depth=2&limit=10')
      expectEqual('depth 2', deep, ['.hidden', 'a', 'b', 'c', 'c/d', false])
      expectEqual('the first two', await listed(bench, folder, 'depth=1&limit=2'), ['.hidden', 'a', true])
    },
  },
  {
    name: 'delete takes a file or an empty folder',
    features: ['files'],
    async run(bench) {
      const folder = bench.path('folder')
      await bench.send('PUT', at(`${folder}/file`, '&parents=1'), { body: 'x' })
      expectRefused('a folder that is not empty', await bench.send('DELETE', at(folder)), 409, 'conflict')
      for (const path of [`${folder}/file`, folder]) {
        const { status } = await bench.send('DELETE', at(path))
        expect(status < 300, `the status of DELETE is ${status}`)
        expectEqual('the status after it', (await bench.send('GET', at(path))).status, 404)
      }
      expectRefused('a second time', await bench.send('DELETE', at(folder)), 404, 'not_found')
    },
  },
]

export function at(path: string, more = ''): string {
  return `/files?path=${encodeURIComponent(path)}${more}`
}

/** The paths, and whether there are more. */
async function listed(bench: Bench, folder: string, query: string): Promise<unknown[]> {
  const reply = await bench.send('GET', `/list?path=${encodeURIComponent(folder)}&${query}`)
  const list = jsonOf(reply)
  const entries = field(list, 'entries')
  expect(Array.isArray(entries), `not a list: ${reply.body.subarray(0, 200)}`)
  return [...entries.map(entry => field(entry, 'path')), field(list, 'truncated')]
}
