/** One command, its bytes in and out, and how it ends. */
import { type Check, expect, expectBytes, expectEqual } from '../check.ts'

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
const MIB = 1024 * 1024
const COMMANDS_AT_ONCE = 32

export const commandChecks: readonly Check[] = [
  {
    name: 'exit code passes',
    programs: ['sh'],
    async run(bench) {
      for (const code of [0, 1, 42, 255]) {
        const ended = await bench.run(bench.sh('exit "$1"', String(code)))
        expectEqual('the exit code', [ended.exitCode, ended.signal, ended.timedOut], [code, null, false])
      }
    },
  },
  {
    name: 'non-zero is a result',
    programs: ['sh'],
    async run(bench) {
      const reply = await bench.post(bench.sh('echo out; echo err >&2; exit 3'))
      expectEqual('the status of the answer', reply.status, 200)
      const { stdout, stderr, exit_code } = JSON.parse(reply.body.toString())
      expectEqual('the answer', [exit_code, stdout, stderr], [3, 'b3V0Cg==', 'ZXJyCg=='])
    },
  },
  {
    name: 'signal is named',
    programs: ['sh'],
    async run(bench) {
      for (const name of ['KILL', 'TERM', 'USR1']) {
        const { exitCode, signal } = await bench.run(bench.sh(`kill -${name} $$`))
        expectEqual('exit code and signal', [exitCode, signal], [null, `SIG${name}`])
      }
    },
  },
  {
    name: 'stdout and stderr apart',
    programs: ['sh'],
    async run(bench) {
      const { stdout, stderr } = await bench.run(bench.sh('echo o1; echo e1 >&2; echo o2; echo e2 >&2'))
      expectEqual('stdout', stdout.toString(), 'o1\no2\n')
      expectEqual('stderr', stderr.toString(), 'e1\ne2\n')
    },
  },
  {
    name: 'all 256 byte values',
    programs: ['sh'],
    async run(bench) {
      const octal = [...ALL_BYTES].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('')
      const { stdout, stderr } = await bench.run(bench.sh(`printf '${octal}'; printf '${octal}' >&2`))
      expectBytes('stdout', stdout, ALL_BYTES)
      expectBytes('stderr', stderr, ALL_BYTES)
    },
  },
  {
    name: 'stdin delivered and closed',
    programs: ['sh', 'cat'],
    async run(bench) {
      const given = await bench.run({ ...bench.sh('cat; echo closed'), stdin: ALL_BYTES.toString('base64') })
      expectBytes('what came by stdin', given.stdout, Buffer.concat([ALL_BYTES, Buffer.from('closed\n')]))
      const absent = await bench.run(bench.sh('cat; echo closed'))
      expectEqual('stdout without a stdin', absent.stdout.toString(), 'closed\n')
      const unread = await bench.run({ ...bench.sh('exit 5'), stdin: Buffer.alloc(MIB).toString('base64') })
      expectEqual('the exit code of one that does not read', unread.exitCode, 5)
    },
  },
  {
    name: '1 MiB of stdin',
    programs: ['cat'],
    async run(bench) {
      const bytes = Buffer.from(bench.random.bytes(4096))
      const stdin = Buffer.alloc(MIB, bytes)
      const { stdout, exitCode } = await bench.run({ ...bench.tool('cat'), stdin: stdin.toString('base64') })
      expectEqual('the exit code', exitCode, 0)
      expectBytes('what came back', stdout, stdin)
    },
  },
  {
    name: 'argv with spaces, quotes, newlines, empty strings',
    programs: ['sh'],
    async run(bench) {
      const args = [
        '',
        ' a  b ',
        '"',
        "'",
        '\\',
        '\n',
        'a\nb\n',
        '$HOME `id` $(id)',
        '*',
        '-n',
        '--',
        '日本 é',
        ';&|<>',
        '\t',
      ]
      const { stdout } = await bench.run(bench.sh(`printf '%s\\000' "$@"`, ...args))
      expectEqual('argv', stdout.toString().split('\0').slice(0, -1), args)
    },
  },
  {
    name: 'missing program is 127 and not a 500',
    async run(bench) {
      const ended = await bench.run({ command: 'exec-conformance-no-such-program' })
      expectEqual('exit code and signal', [ended.exitCode, ended.signal], [127, null])
      expect(ended.stderr.length > 0, 'stderr says nothing')
    },
  },
  {
    name: 'a held pipe does not hold the answer',
    programs: ['sh', 'sleep'],
    async run(bench) {
      const sinceMs = bench.clock.monotonic()
      const ended = await bench.run(bench.sh('sleep 20 & echo out; exit 4'))
      const ms = bench.clock.monotonic() - sinceMs
      expectEqual('code and stdout', [ended.exitCode, ended.stdout.toString()], [4, 'out\n'])
      expect(ms < 12_000, `the answer took ${Math.round(ms)} ms`)
      expectEqual('held_pipes', ended.heldPipes, true)
      const free = await bench.run(bench.sh('echo out'))
      expectEqual('held_pipes of a command that leaves nothing', free.heldPipes, false)
    },
  },
  {
    name: '32 commands at once',
    programs: ['sh', 'sleep'],
    async run(bench) {
      const numbers = Array.from({ length: COMMANDS_AT_ONCE }, (_, number) => number)
      const ends = await Promise.all(
        numbers.map(number => bench.run(bench.sh('sleep 0.2; echo "$1"; exit "$1"', String(number)))),
      )
      for (const [number, { exitCode, stdout }] of ends.entries()) {
        expectEqual('an answer', [exitCode, stdout.toString()], [number, `${number}\n`])
      }
    },
  },
]
