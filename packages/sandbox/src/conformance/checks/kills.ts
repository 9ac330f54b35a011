/** What "killed" means: the whole tree, with a grace, and no answer before nothing is left. */
import { type Bench, TICK } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'

export const killChecks: readonly Check[] = [
  {
    name: 'timeout kills and says so',
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      const sinceMs = bench.clock.monotonic()
      const ended = await bench.run({ ...bench.sh(`(${TICK}) & ${TICK}`, file), timeout_ms: 700 })
      const ms = bench.clock.monotonic() - sinceMs
      expectEqual('timed_out', ended.timedOut, true)
      expect(ms > 600, `it was ended after ${Math.round(ms)} ms, before its time`)
      expect((await bench.read(file)).length > 0, 'the command did not run')
      expect(await bench.isStill(file), 'something of it still runs')
      const inTime = await bench.run({ ...bench.sh('exit 6'), timeout_ms: 20_000 })
      expectEqual('one that was in time', [inTime.exitCode, inTime.timedOut], [6, false])
    },
  },
  {
    name: 'output before a timeout is kept',
    programs: ['sh', 'sleep'],
    async run(bench) {
      const script = 'echo out; echo err >&2; sleep 25'
      const { stdout, stderr, timedOut } = await bench.run({ ...bench.sh(script), timeout_ms: 1000 })
      // A shell may add a word of its own about the end of its child.
      const first = stderr.toString().slice(0, 4)
      expectEqual('the answer', [timedOut, stdout.toString(), first], [true, 'out\n', 'err\n'])
    },
  },
  {
    name: 'SIGTERM comes first',
    programs: ['sh', 'sleep'],
    async run(bench) {
      const script = 'trap "sleep 0.3; echo bye; exit 0" TERM; while :; do sleep 0.1; done'
      const { stdout, timedOut } = await bench.run({ ...bench.sh(script), timeout_ms: 1000 })
      const lastWords = stdout.toString().slice(-4)
      expectEqual('timed_out and the last words', [timedOut, lastWords], [true, 'bye\n'])
    },
  },
  {
    name: 'an answer comes only when nothing is left',
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      for (const script of [`(trap "" TERM; ${TICK}) & ${TICK}`, `trap "" TERM; (${TICK}) & ${TICK}`]) {
        const sinceMs = bench.clock.monotonic()
        const ended = await bench.run({ ...bench.sh(script, file), timeout_ms: 700 })
        const ms = bench.clock.monotonic() - sinceMs
        expectEqual('timed_out', ended.timedOut, true)
        expect(await bench.isStill(file), 'something of it ran when the answer was here')
        expect(ms < bench.graceMs, `a command that ignores SIGTERM was ended after ${Math.round(ms)} ms`)
      }
    },
  },
  ...swept('leftovers swept', async (bench, script, file) => {
    const ended = await bench.run(bench.sh(script, file))
    expectEqual('the exit code', ended.exitCode, 0)
  }),
  ...swept('leftovers of a stream swept', async (bench, script, file) => {
    const frames = await (await bench.stream(bench.sh(script, file))).rest()
    expectEqual('the last frame', frames.at(-1)?.type, 'exit')
  }),
]

function swept(name: string, run: (bench: Bench, script: string, file: string) => Promise<void>): Check[] {
  const check: Check = {
    name,
    programs: ['sh', 'sleep', 'setsid', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      // Done when the first mark is there, so that there is something to sweep.
      const script = `setsid sh -c '${TICK}' sh "$1" >/dev/null 2>&1 & until [ -s "$1" ]; do sleep 0.05; done`
      await run(bench, script, file)
      expect(await bench.isStill(file), 'what the command left in the background still runs')
    },
  }
  return [name.includes('stream') ? { ...check, features: ['stream'] } : check]
}
