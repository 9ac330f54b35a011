/** `X-Exec-Fence`: an owner that was paused past its takeover does nothing more. */
import { expectRefused } from '../bench.ts'
import { type Check, expectEqual } from '../check.ts'

export const fenceChecks: readonly Check[] = [
  {
    name: 'a lower fence is refused',
    features: ['fence'],
    programs: ['sh', 'cat'],
    async run(bench) {
      const count = bench.path('count')
      const as = (n: number, scope = bench.scope) =>
        bench.post(bench.sh('echo >> "$1"', count), { 'x-exec-fence': `${scope} ${n}` })
      for (const n of [5, 5, 7]) expectEqual(`the status of the fence ${n}`, (await as(n)).status, 200)
      expectRefused('the fence 5 after 7', await as(5), 409, 'conflict')
      expectEqual('the status in another scope', (await as(1, `${bench.scope}-other`)).status, 200)
      expectEqual('the status of the fence 7 again', (await as(7)).status, 200)
      expectEqual('how often it ran', (await bench.read(count)).length, 5)
    },
  },
  {
    name: 'a lower fence is refused on every call',
    features: ['fence', 'files', 'jobs'],
    async run(bench) {
      const headers = (n: number) => ({ headers: { 'x-exec-fence': `${bench.scope} ${n}` } })
      await bench.send('GET', '/health', headers(3))
      const path = `/files?path=${encodeURIComponent(bench.path('file'))}`
      expectRefused('PUT', await bench.send('PUT', path, { ...headers(2), body: 'x' }), 409, 'conflict')
      expectEqual('the status of GET of that file', (await bench.send('GET', path, headers(3))).status, 404)
      const scope = `/scopes/${bench.scope}`
      expectRefused('DELETE', await bench.send('DELETE', scope, headers(2)), 409, 'conflict')
    },
  },
]
