/** Writing a file: whole or not at all, over the right one, and what of the old one stays. */
import { type Bench, expectRefused, field, jsonOf } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'
import { at } from './files.ts'

const SIZE = 2 * 1024 * 1024
const WRITES = 8

export const fileWriteChecks: readonly Check[] = [
  {
    name: 'atomic write under a concurrent reader',
    features: ['files'],
    async run(bench) {
      const path = at(bench.path('file'))
      const of = (letter: string) => Buffer.alloc(SIZE, letter)
      await bench.send('PUT', path, { body: of('a') })
      let isOver = false
      const reading = (async () => {
        while (!isOver) expectWhole((await bench.send('GET', path)).body)
      })()
      reading.catch(() => undefined) // seen below, when the writer is done
      try {
        for (let n = 0; n < WRITES; n++) await bench.send('PUT', path, { body: of(n % 2 ? 'a' : 'b') })
      } finally {
        isOver = true
      }
      await reading
      expectWhole((await bench.send('GET', path)).body)
    },
  },
  {
    name: 'an upload that breaks off changes nothing',
    features: ['files'],
    async run(bench) {
      const path = at(bench.path('file'))
      await bench.send('PUT', path, { body: 'old' })
      const headers = { 'content-length': String(SIZE) }
      const { request } = bench.http.begin({ method: 'PUT', path, headers }, bench.signal)
      await new Promise<void>(resolve => request.write(Buffer.alloc(SIZE / 2, 'n'), () => resolve()))
      expectEqual('the file during the upload', (await bench.send('GET', path)).body.toString(), 'old')
      request.destroy()
      await bench.clock.sleep(300, bench.signal)
      expectEqual('the file after it', (await bench.send('GET', path)).body.toString(), 'old')
    },
  },
  {
    name: 'If-Match',
    features: ['files'],
    async run(bench) {
      const path = at(bench.path('file'))
      const first = (await bench.send('PUT', path, { body: 'one' })).headers.etag ?? ''
      expectEqual('the ETag of GET', (await bench.send('GET', path)).headers.etag, first)
      const put = (body: string, tag: string) =>
        bench.send('PUT', path, { body, headers: { 'if-match': tag } })
      const second = await put('two', first)
      expectEqual('the status with the right ETag', second.status, 200)
      expectRefused('the old ETag', await put('three', first), 412, 'conflict')
      expectEqual('the file after the refusal', (await bench.send('GET', path)).body.toString(), 'two')
      expect(second.headers.etag !== first, 'the ETag is the same for another content')
      const absent = await bench.send('PUT', at(bench.path('absent')), {
        body: 'x',
        headers: { 'if-match': first },
      })
      expectRefused('the ETag of a file that is absent', absent, 412, 'conflict')
    },
  },
  {
    name: 'mode kept and set',
    features: ['files'],
    async run(bench) {
      const path = bench.path('script')
      await bench.send('PUT', at(path), { body: 'one', headers: { 'x-file-mode': '0751' } })
      expectEqual('the mode that was asked for', await modeOf(bench, path), '751')
      await bench.send('PUT', at(path), { body: 'two' })
      expectEqual('the mode after a second write', await modeOf(bench, path), '751')
      const got = await bench.send('GET', at(path))
      expectEqual('X-File-Mode', Number.parseInt(String(got.headers['x-file-mode']), 8), 0o751)
    },
  },
  {
    name: 'symlink kept',
    features: ['files'],
    programs: ['sh', 'ln'],
    async run(bench) {
      const [file, link] = [bench.path('target'), bench.path('link')]
      await bench.send('PUT', at(file), { body: 'old' })
      await bench.run(bench.sh('ln -s "$1" "$2"', file, link))
      await bench.send('PUT', at(link), { body: 'new' })
      expectEqual('the target', (await bench.send('GET', at(file))).body.toString(), 'new')
      const { exitCode } = await bench.run(bench.sh('[ -L "$1" ]', link))
      expectEqual('whether the link is still one', exitCode, 0)
    },
  },
  {
    name: 'parents are made when asked',
    features: ['files'],
    async run(bench) {
      const path = `${bench.path('folder')}/deep/file`
      expectRefused(
        'a folder that is absent',
        await bench.send('PUT', at(path), { body: 'x' }),
        404,
        'not_found',
      )
      const { status } = await bench.send('PUT', at(path, '&parents=1'), { body: 'made' })
      expect(status === 200 || status === 201, `the status with parents=1 is ${status}`)
      expectEqual('the file', (await bench.send('GET', at(path))).body.toString(), 'made')
    },
  },
]

function expectWhole(bytes: Buffer): void {
  const isWhole = bytes.length === SIZE && (bytes[0] === 97 || bytes[0] === 98)
  expect(isWhole && bytes.every(byte => byte === bytes[0]), `a reader saw a part: ${bytes.length} bytes`)
}

async function modeOf(bench: Bench, path: string): Promise<string> {
  const stat = jsonOf(await bench.send('GET', `/stat?path=${encodeURIComponent(path)}`))
  return Number(field(stat, 'mode')).toString(8)
}
