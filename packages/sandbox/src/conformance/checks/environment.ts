/** What a command finds around it: its folder and its variables. */
import type { Bench, Body } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'

export const environmentChecks: readonly Check[] = [
  {
    name: 'cwd',
    programs: ['sh', 'mkdir'],
    async run(bench) {
      const folder = bench.path('a folder')
      await bench.run(bench.sh('mkdir "$1"', folder))
      // Where it is, not how it is called: the way there may lead over a link.
      const { stdout, exitCode } = await bench.run({
        ...bench.sh('pwd; : > here; [ -e "$1/here" ]', folder),
        cwd: folder,
      })
      expectEqual('the exit code', exitCode, 0)
      expect(stdout.toString().endsWith('a folder\n'), `pwd says ${stdout}`)
    },
  },
  {
    name: 'missing cwd',
    programs: ['sh'],
    async run(bench) {
      const ended = await bench.run({ ...bench.sh('echo ran'), cwd: bench.path('absent') })
      expectEqual('code and stdout', [ended.exitCode, ended.stdout.toString()], [126, ''])
      expect(ended.stderr.length > 0, 'stderr says nothing')
    },
  },
  {
    name: 'env added and removed',
    programs: ['env'],
    async run(bench) {
      const before = await variables(bench, bench.tool('env'))
      const added = { CONFORMANCE_A: 'a "b" $c é', CONFORMANCE_EMPTY: '' }
      const own = [...before.keys()].find(
        name => /^[A-Z]+$/.test(name) && !['PATH', 'PWD', 'SHLVL'].includes(name),
      )
      const tool = bench.tool('env')
      const env = { ...variablesOf(tool), ...added, ...(own ? { [own]: null } : {}) }
      const during = await variables(bench, { ...tool, env })
      for (const [name, value] of Object.entries(added)) expectEqual(name, during.get(name), value)
      if (own) expect(!during.has(own), `${own} is still there`)
      const kept = [...before.keys()].filter(name => name !== own && !during.has(name))
      expectEqual('variables that were not named and are gone', kept, [])
      const after = await variables(bench, bench.tool('env'))
      expectEqual('variables of the next command', [...after.keys()].sort(), [...before.keys()].sort())
    },
  },
  {
    name: "the endpoint's own environment hidden",
    programs: ['env'],
    async run(bench) {
      const found = await variables(bench, bench.tool('env'))
      expectEqual(
        'variables of execd',
        [...found.keys()].filter(name => name.startsWith('EXECD_')),
        [],
      )
      for (const credential of Object.values(bench.http.headers)) {
        const secret = credential.replace(/^bearer\s+/i, '')
        const named = [...found].flatMap(([name, value]) => (value.includes(secret) ? [name] : []))
        expectEqual('variables that hold the token', named, [])
      }
    },
  },
]

async function variables(bench: Bench, body: Body): Promise<Map<string, string>> {
  const { stdout } = await bench.run(body)
  const lines = stdout
    .toString()
    .split('\n')
    .filter(line => line.includes('='))
  return new Map(lines.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

function variablesOf(body: Body): object {
  return typeof body.env === 'object' && body.env !== null ? body.env : {}
}
