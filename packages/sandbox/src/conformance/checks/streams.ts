/** Frames: their order, offsets and end, silence, and a reader that is slow. */
import { TICK } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'
import { bytesOf, outputOf } from '../frame-reader.ts'

const MIB = 1024 * 1024
const WRITTEN_MIB = 48
/** What pipes, sockets and the endpoint may hold of a reader who takes nothing. */
const HELD_MIB = 24

export const streamChecks: readonly Check[] = [
  {
    name: 'stream order and offsets',
    features: ['stream'],
    programs: ['sh'],
    async run(bench) {
      const script =
        'i=0; while [ $i -lt 500 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done; exit 5'
      const frames = await (await bench.stream(bench.sh(script))).rest()
      expectEqual('the first frame', frames[0]?.type, 'start')
      for (const type of ['stdout', 'stderr'] as const) {
        let offset = 0
        for (const frame of outputOf(frames).filter(one => one.type === type)) {
          expectEqual(`an offset of ${type}`, frame.offset, offset)
          offset += frame.bytes.length
        }
        const word = type.slice(3)
        const lines = Array.from({ length: 500 }, (_, i) => `${word} ${i}\n`).join('')
        expect(bytesOf(frames, type).toString() === lines, `${type} is not what was written`)
      }
    },
  },
  {
    name: 'bytes split inside UTF-8',
    limitMs: 20_000,
    features: ['stream'],
    programs: ['sh', 'sleep'],
    async run(bench) {
      const go = bench.path('go')
      const script = `printf '\\303'; until [ -e "$1" ]; do sleep 0.05; done; printf '\\251'`
      const reader = await bench.stream(bench.sh(script, go))
      const first = await reader.nextOf('stdout')
      expectEqual('the first byte', first.data, 'ww==')
      await bench.write(go)
      const rest = await reader.rest()
      expectEqual('the rest', bytesOf(rest, 'stdout').toString('hex'), 'a9')
    },
  },
  {
    name: 'heartbeat while silent',
    features: ['stream'],
    programs: ['sleep'],
    isLong: true,
    limitMs: 40_000,
    async run(bench) {
      const reader = await bench.stream(bench.tool('sleep', '60'))
      await reader.nextOf('start')
      const sinceMs = bench.clock.monotonic()
      const frame = await reader.next()
      const ms = Math.round(bench.clock.monotonic() - sinceMs)
      expectEqual('the frame of a silent command', frame?.type, 'heartbeat')
      expect(ms > 8_000 && ms < 20_000, `a heartbeat came after ${ms} ms and not after 10 s`)
      reader.close()
    },
  },
  {
    name: 'exit frame last',
    features: ['stream'],
    programs: ['sh'],
    async run(bench) {
      for (const [script, code, signal] of [
        ['echo out; echo err >&2; exit 7', 7, null],
        ['echo out; kill -KILL $$', null, 'SIGKILL'],
      ] as const) {
        const frames = await (await bench.stream(bench.sh(script))).rest()
        const exits = frames.filter(frame => frame.type === 'exit')
        expectEqual('the number of exit frames', exits.length, 1)
        const last = frames.at(-1)
        expect(last?.type === 'exit', `the last frame is "${last?.type}"`)
        expectEqual('the end', [last.exit_code, last.signal, last.timed_out], [code, signal, false])
      }
    },
  },
  {
    name: 'a timeout in a stream is said in its exit frame',
    features: ['stream'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      const reader = await bench.stream({ ...bench.sh(`echo out; ${TICK}`, file), timeout_ms: 1000 })
      const frames = await reader.rest()
      const last = frames.at(-1)
      expect(last?.type === 'exit', `the last frame is "${last?.type}"`)
      const first = bytesOf(frames, 'stdout').subarray(0, 4).toString()
      expectEqual('timed_out and stdout', [last.timed_out, first], [true, 'out\n'])
      expect(await bench.isStill(file), 'something of it still runs')
    },
  },
  {
    name: 'slow reader bounded memory',
    features: ['stream'],
    programs: ['sh', 'head', 'cat'],
    isAlone: true,
    limitMs: 60_000,
    async run(bench) {
      const file = bench.path('written')
      const script = `i=0; while [ $i -lt ${WRITTEN_MIB} ]; do head -c ${MIB} /dev/zero; i=$((i+1)); echo $i > "$1"; done`
      const reader = await bench.stream(bench.sh(script, file))
      await reader.nextOf('stdout')
      await bench.untilStill(file)
      const held = Number(await bench.read(file))
      expect(held <= HELD_MIB, `${held} MiB were taken from a command whose reader takes nothing`)
      let received = 0
      for (let frame = await reader.next(); frame; frame = await reader.next()) {
        if (frame.type === 'stdout') received = frame.offset + Buffer.byteLength(frame.data, 'base64')
      }
      expectEqual('bytes that came in the end', received, WRITTEN_MIB * MIB)
    },
  },
]
