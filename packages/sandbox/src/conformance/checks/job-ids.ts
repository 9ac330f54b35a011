/** The caller's own id: whatever is asked again, nothing runs twice. */
import { type Bench, expectRefused } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'
import { bytesOf } from '../frame-reader.ts'

const COUNT = 'echo >> "$1"'

export const jobIdChecks: readonly Check[] = [
  {
    name: 'same id twice runs once',
    features: ['jobs'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const count = bench.path('count')
      const body = {
        ...bench.sh(`${COUNT}; sleep 0.5; echo out; exit 4`, count),
        job: bench.job('once', { keep: true }),
      }
      const ends = await Promise.all([bench.run(body), bench.run(body), bench.run(body)])
      for (const { exitCode, stdout } of ends) {
        expectEqual('an answer', [exitCode, stdout.toString()], [4, 'out\n'])
      }
      expectEqual('how often it ran', (await bench.read(count)).length, 1)
    },
  },
  {
    name: 'a finished id answers again and does not run again',
    features: ['stream', 'jobs'],
    programs: ['sh', 'cat'],
    async run(bench) {
      const count = bench.path('count')
      const body = {
        ...bench.sh(`${COUNT}; echo out; exit 4`, count),
        job: bench.job('done', { keep: true }),
      }
      await bench.run(body)
      const again = await bench.run(body)
      expectEqual('the second answer', [again.exitCode, again.stdout.toString()], [4, 'out\n'])
      const frames = await (await bench.stream(body)).rest()
      expectEqual('the output in a stream', bytesOf(frames, 'stdout').toString(), 'out\n')
      expectEqual('how often it ran', (await bench.read(count)).length, 1)
    },
  },
  {
    name: 'same id with another body conflicts',
    features: ['jobs'],
    programs: ['sh', 'cat'],
    async run(bench) {
      const count = bench.path('count')
      const job = bench.job('taken', { keep: true })
      await bench.run({ ...bench.sh('exit 0'), job })
      const base = bench.sh(COUNT, count)
      const others = [base, { ...bench.sh('exit 0'), stdin: 'YQ==' }, { ...bench.sh('exit 0'), cwd: '/' }]
      for (const other of others) {
        expectRefused('another body', await bench.post({ ...other, job }), 409, 'conflict')
      }
      expectEqual('how often the other ran', (await bench.read(count)).length, 0)
    },
  },
  {
    name: 'finished id without its output is gone',
    features: ['jobs'],
    programs: ['sh', 'cat'],
    isLong: true,
    async run(bench) {
      const count = bench.path('count')
      const body = { ...bench.sh(COUNT, count), job: bench.job('brief', { keep: true, ttl_s: 1 }) }
      await bench.run(body)
      await bench.until('the job is forgotten after its ttl of 1 s', async () => {
        const { status } = await bench.send('GET', bench.jobPath('brief'))
        return status === 410 || status === 404
      })
      expectRefused('the same id after its ttl', await bench.post(body), 410, 'gone')
      expectEqual('how often it ran', (await bench.read(count)).length, 1)
    },
  },
  {
    name: 'another instance is gone',
    features: ['jobs'],
    programs: ['sh', 'cat'],
    async run(bench) {
      const count = bench.path('count')
      const of = (id: string, instance: string) => ({
        ...bench.sh(COUNT, count),
        job: bench.job(id, { instance }),
      })
      const instance = bench.health?.instance ?? ''
      const other = await bench.post(of('other', 'an-instance-that-never-was'))
      expectRefused('a job of another instance', other, 410, 'gone')
      expectEqual('how often it ran', (await bench.read(count)).length, 0)
      expectEqual('the exit code at this instance', (await bench.run(of('this', instance))).exitCode, 0)
    },
  },
  {
    name: 'an id that can not be one is refused',
    features: ['jobs'],
    programs: ['sh', 'cat'],
    async run(bench) {
      const count = bench.path('count')
      for (const id of ['', 'a b', 'a/b', 'é', 'x'.repeat(129)]) {
        const reply = await bench.post({ ...bench.sh(COUNT, count), job: bench.job(id) })
        expectRefused(`the id ${JSON.stringify(id.slice(0, 10))}`, reply, 400, 'bad_request')
      }
      expectEqual('how often it ran', (await bench.read(count)).length, 0)
      const longest = await bench.run({ ...bench.sh('exit 0'), job: bench.job('x'.repeat(128)) })
      expectEqual('the exit code of the longest id', longest.exitCode, 0)
    },
  },
  {
    name: 'scopes are apart',
    features: ['jobs'],
    programs: ['sh', 'cat'],
    async run(bench) {
      const count = bench.path('count')
      const [one, two] = [`${bench.scope}-1`, `${bench.scope}-2`]
      const run = (scope: string) =>
        bench.run({ ...bench.sh(COUNT, count), job: { id: 'same', scope, keep: true } })
      try {
        await run(one)
        await run(two)
        expectEqual('how often it ran', (await bench.read(count)).length, 2)
        await bench.send('DELETE', `/scopes/${one}`)
        expect((await at(bench, one)) !== 200, 'the job of the scope that was deleted is still there')
        expectEqual('the status of the job in the other scope', await at(bench, two), 200)
      } finally {
        for (const scope of [one, two]) await bench.send('DELETE', `/scopes/${scope}`)
      }
    },
  },
]

async function at(bench: Bench, scope: string): Promise<number> {
  return (await bench.send('GET', `/jobs/same?scope=${scope}`)).status
}
