/** What is the endpoint's own stays out of the reach of what it runs. */
import { type Check, expect, expectEqual, skipped } from '../check.ts'
import { at } from './files.ts'

export const secretChecks: readonly Check[] = [
  {
    name: 'run-as cannot read the token',
    programs: ['sh', 'cat', 'grep'],
    async run(bench) {
      const file = bench.tokenFile
      if (file === null) throw skipped('say where the endpoint keeps its token: --token-file')
      const read = await bench.run(bench.sh('cat "$1"', file))
      expect(read.exitCode !== 0 && read.stdout.length === 0, 'a command reads the token from its file')
      if (bench.health?.features.includes('files')) {
        expect((await bench.send('GET', at(file))).status !== 200, 'a file call reads the token')
      }
      // By stdin, or the search would find itself.
      const secrets = Object.values(bench.http.headers).map(value => value.replace(/^bearer\s+/i, ''))
      const search = 'cd /proc; grep -lF -f - [0-9]*/environ [0-9]*/cmdline 2>/dev/null; exit 0'
      const stdin = Buffer.from(secrets.map(secret => `${secret}\n`).join('')).toString('base64')
      if (secrets.length > 0) {
        const { stdout } = await bench.run({ ...bench.sh(search), stdin })
        expectEqual('processes that show the token', stdout.toString(), '')
      }
      const memory = await bench.run(bench.sh('cat /proc/$PPID/environ || cat /proc/$PPID/maps'))
      expectEqual('what the parent of a command shows', memory.stdout.toString(), '')
    },
  },
]
