/** Being told that a job has ended: at least once, with the token, and never for one that did not begin. */
import { expectRefused, field } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'

const TOKEN = 'a-token-of-the-kit'

export const notifyChecks: readonly Check[] = [
  {
    name: 'notify once per end and retried on 500',
    limitMs: 30_000,
    features: ['jobs', 'notify'],
    programs: ['sh'],
    isLong: true,
    async run(bench) {
      const box = bench.mailbox()
      box.statuses.push(500)
      const notify = { url: box.url, token: TOKEN }
      await bench.run({ ...bench.sh('exit 5'), job: bench.job('told', { keep: true, notify }) })
      await bench.until(`the end of a job is told at ${box.url}`, () => box.received.length > 0)
      await bench.until('it is told again after a 500', () => box.received.length > 1)
      await bench.clock.sleep(3500, bench.signal)
      expectEqual('how often it was told, with one 500', box.received.length, 2)
      const [first, second] = box.received
      const waitedMs = (second?.atMs ?? 0) - (first?.atMs ?? 0)
      expect(waitedMs > 500, `it was told again after ${Math.round(waitedMs)} ms and not after 1 s`)
      for (const { headers, body } of box.received) {
        expectEqual('the Authorization header', headers.authorization, `Bearer ${TOKEN}`)
        const state: unknown = JSON.parse(body)
        const found = ['id', 'scope', 'state', 'exit_code'].map(name => field(state, name))
        expectEqual('the JobState in the body', found, ['told', bench.scope, 'exited', 5])
      }
    },
  },
  {
    name: 'notify asked for while it runs',
    limitMs: 30_000,
    features: ['stream', 'jobs', 'notify'],
    programs: ['sh', 'sleep'],
    async run(bench) {
      const box = bench.mailbox()
      const go = bench.path('go')
      const script = 'echo up; until [ -e "$1" ]; do sleep 0.05; done'
      const reader = await bench.stream({ ...bench.sh(script, go), job: bench.job('later') })
      await reader.nextOf('stdout')
      const body = JSON.stringify({ keep: true, notify: { url: box.url, token: TOKEN } })
      expectEqual(
        'the status of PATCH',
        (await bench.send('PATCH', bench.jobPath('later'), { body })).status,
        200,
      )
      reader.close()
      expectEqual('what was told while it runs', box.received.length, 0)
      await bench.write(go)
      await bench.until(`its end is told at ${box.url}`, () => box.received.length > 0)
    },
  },
  {
    name: 'a job that never started never notifies',
    features: ['jobs', 'notify'],
    programs: ['sh'],
    async run(bench) {
      const box = bench.mailbox()
      const notify = { url: box.url, token: TOKEN }
      const gone = bench.job('gone', { keep: true, notify, instance: 'an-instance-that-never-was' })
      expectRefused('another instance', await bench.post({ ...bench.sh('exit 0'), job: gone }), 410, 'gone')
      await bench.run({ ...bench.sh('exit 0'), job: bench.job('taken', { keep: true }) })
      const taken = bench.job('taken', { keep: true, notify })
      expectRefused('another body', await bench.post({ ...bench.sh('exit 1'), job: taken }), 409, 'conflict')
      await bench.clock.sleep(2000, bench.signal)
      expectEqual('how often an end was told', box.received.length, 0)
    },
  },
]
