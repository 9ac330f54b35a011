/** What a job wrote, from any offset, in the order of its arrival, and what was dropped of it. */
import { jobStateOf } from '../bench.ts'
import { type Check, expect, expectBytes, expectEqual, skipped } from '../check.ts'
import { bytesOf, outputOf } from '../frame-reader.ts'

const KEPT_BYTES = 4 * 1024 * 1024
/** More is not written to find out what is dropped. */
const MAX_TRIED_BYTES = 64 * 1024 * 1024

export const jobOutputChecks: readonly Check[] = [
  {
    name: 'output by offset',
    features: ['jobs'],
    programs: ['sh'],
    async run(bench) {
      await bench.run({
        ...bench.sh('printf 0123456789; printf abcdef >&2'),
        job: bench.job('ten', { keep: true }),
      })
      for (const [out, err] of [
        [0, 0],
        [4, 6],
        [10, 2],
      ] as const) {
        const path = bench.jobPath('ten', '/output', `stdout=${out}&stderr=${err}`)
        const frames = await (await bench.frames(path)).rest()
        const found = [bytesOf(frames, 'stdout').toString(), bytesOf(frames, 'stderr').toString()]
        expectEqual(`output from ${out} and ${err}`, found, ['0123456789'.slice(out), 'abcdef'.slice(err)])
        for (const [type, from] of [
          ['stdout', out],
          ['stderr', err],
        ] as const) {
          const first = outputOf(frames).find(frame => frame.type === type)
          if (first) expectEqual(`the first offset of ${type}`, first.offset, from)
        }
        expectEqual('the last frame', frames.at(-1)?.type, 'exit')
      }
    },
  },
  {
    name: 'output of 4 MiB is kept whole',
    features: ['stream', 'jobs'],
    programs: ['sh', 'head', 'tr'],
    async run(bench) {
      const most = bench.health?.limits.max_job_output_bytes ?? Number.POSITIVE_INFINITY
      const size = Math.min(KEPT_BYTES, most)
      const script = 'head -c "$1" /dev/zero; head -c "$1" /dev/zero | tr "\\000" x'
      const job = bench.job('large', { keep: true })
      await (await bench.stream({ ...bench.sh(script, String(size / 2)), job })).rest()
      const frames = await (await bench.frames(bench.jobPath('large', '/output'))).rest()
      const wanted = Buffer.concat([Buffer.alloc(size / 2), Buffer.alloc(size / 2, 'x')])
      expectBytes('the output', bytesOf(frames, 'stdout'), wanted)
      const from = bench.jobPath('large', '/output', `stdout=${size - 5}`)
      const end = await (await bench.frames(from)).rest()
      expectEqual('the last 5 bytes', bytesOf(end, 'stdout').toString(), 'xxxxx')
    },
  },
  {
    name: 'output waits for what comes',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep'],
    async run(bench) {
      const go = bench.path('go')
      const script = 'echo one; until [ -e "$1" ]; do sleep 0.05; done; echo two'
      const reader = await bench.stream({ ...bench.sh(script, go), job: bench.job('two', { keep: true }) })
      await reader.nextOf('stdout')
      reader.close()
      const now = await (await bench.frames(bench.jobPath('two', '/output', 'wait_ms=300'))).rest()
      expectEqual('what is there', bytesOf(now, 'stdout').toString(), 'one\n')
      expect(!now.some(frame => frame.type === 'exit'), 'an exit frame of a job that runs')
      // Not awaited: an endpoint may send the head of its answer with the first frame.
      const live = bench.frames(bench.jobPath('two', '/output', 'stdout=4'))
      live.catch(() => undefined) // seen below
      await bench.clock.sleep(300, bench.signal)
      await bench.write(go)
      const rest = await (await live).rest()
      expectEqual('what came later', bytesOf(rest, 'stdout').toString(), 'two\n')
      expectEqual('the last frame', rest.at(-1)?.type, 'exit')
    },
  },
  {
    name: 'order of two streams kept',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep'],
    async run(bench) {
      const go = bench.path('go')
      const step = (n: number) => `until [ -e "$1${n}" ]; do sleep 0.02; done`
      const script = `echo 1; ${step(1)}; echo 2 >&2; ${step(2)}; echo 3; ${step(3)}; echo 4 >&2`
      const reader = await bench.stream({
        ...bench.sh(script, go),
        job: bench.job('ordered', { keep: true }),
      })
      const live: string[] = []
      for (let frame = await reader.next(); frame; frame = await reader.next()) {
        if (frame.type !== 'stdout' && frame.type !== 'stderr') continue
        live.push(`${frame.type} ${Buffer.from(frame.data, 'base64')}`)
        await bench.write(`${go}${live.length}`)
      }
      const wanted = ['stdout 1\n', 'stderr 2\n', 'stdout 3\n', 'stderr 4\n']
      expectEqual('the order as it came', live, wanted)
      const frames = await (await bench.frames(bench.jobPath('ordered', '/output'))).rest()
      const kept = outputOf(frames).map(frame => `${frame.type} ${frame.bytes}`)
      expectEqual('the order as it is kept', kept, wanted)
    },
  },
  {
    name: 'dropped output is counted',
    features: ['jobs'],
    programs: ['sh', 'head'],
    limitMs: 60_000,
    async run(bench) {
      const most = bench.health?.limits.max_job_output_bytes
      if (most === undefined) throw skipped('no max_job_output_bytes in /health')
      if (most > MAX_TRIED_BYTES) throw skipped(`max_job_output_bytes is ${most}, too much to try`)
      // Beyond the limit of the disk there is the ring in memory.
      const size = 2 * most + 24 * 1024 * 1024
      const body = bench.sh('head -c "$1" /dev/zero; printf end', String(size))
      const reader = await bench.stream({ ...body, job: bench.job('much', { keep: true }) })
      await reader.nextOf('start')
      reader.close()
      await bench.until('the job ends though nobody reads', async () => {
        return (await bench.state('much')).state === 'exited'
      })
      const state = jobStateOf(await bench.send('GET', bench.jobPath('much')))
      expectEqual('stdout_bytes', state.stdout_bytes, size + 3)
      expect(state.dropped_bytes > 0, 'nothing is said to be dropped')
      const frames = await (await bench.frames(bench.jobPath('much', '/output'))).rest()
      const held = bytesOf(frames, 'stdout')
      expectEqual('bytes held and dropped together', held.length + state.dropped_bytes, size + 3)
      expectEqual('the end of what is held', held.subarray(-3).toString(), 'end')
      expectEqual('the first offset', outputOf(frames)[0]?.offset, state.dropped_bytes)
    },
  },
]
