/** How jobs end: by a kill, with their scope, and what is kept of them. */
import { expectRefused, field, jobStateOf, jsonOf, TICK } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'
import { bytesOf } from '../frame-reader.ts'

export const jobEndChecks: readonly Check[] = [
  {
    name: 'kill',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      const script = `(trap "" TERM; ${TICK}) & echo up; ${TICK}`
      const reader = await bench.stream({
        ...bench.sh(script, file),
        job: bench.job('victim', { keep: true }),
      })
      await reader.nextOf('stdout')
      await bench.untilTicking(file)
      const reply = await bench.send('DELETE', bench.jobPath('victim'))
      expect(await bench.isStill(file), 'something of it ran when DELETE was answered')
      expectEqual('the status of DELETE', reply.status, 200)
      const { state, signal } = jobStateOf(reply)
      expectEqual('its final state', state, 'exited')
      expect(signal === 'SIGTERM' || signal === 'SIGKILL', `its signal is ${signal}`)
      const rest = await reader.rest()
      expectEqual('the last frame of its stream', rest.at(-1)?.type, 'exit')
      const again = await bench.send('DELETE', bench.jobPath('victim'))
      expectEqual('the status of a second DELETE', again.status, 200)
      expectEqual('the state of a second DELETE', jobStateOf(again).state, 'exited')
    },
  },
  {
    name: 'kill by scope',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const files = [bench.path('one'), bench.path('two')]
      for (const [number, file] of files.entries()) {
        const job = bench.job(`job-${number}`, { keep: true })
        const reader = await bench.stream({ ...bench.sh(TICK, file), job })
        await reader.nextOf('start')
        await bench.untilTicking(file)
        reader.close()
      }
      const reply = await bench.send('DELETE', `/scopes/${bench.scope}`)
      expect(reply.status < 300, `the status of DELETE is ${reply.status}`)
      for (const file of files) expect(await bench.isStill(file), 'a job of the scope still runs')
      const listed = jsonOf(await bench.send('GET', `/jobs?scope=${bench.scope}`))
      expectEqual('jobs of the scope', field(listed, 'jobs'), [])
    },
  },
  {
    name: 'finished job kept for its ttl',
    features: ['jobs'],
    programs: ['sh'],
    isLong: true,
    async run(bench) {
      await bench.run({ ...bench.sh('echo out; exit 8'), job: bench.job('stays', { keep: true, ttl_s: 60 }) })
      await bench.clock.sleep(10_000, bench.signal)
      const state = await bench.state('stays')
      expectEqual('state and exit code', [state.state, state.exit_code], ['exited', 8])
      const frames = await (await bench.frames(bench.jobPath('stays', '/output'))).rest()
      expectEqual('its output', bytesOf(frames, 'stdout').toString(), 'out\n')
    },
  },
  {
    name: 'a scope that was deleted is forgotten',
    features: ['jobs'],
    programs: ['sh'],
    async run(bench) {
      await bench.run({ ...bench.sh('exit 0'), job: bench.job('gone', { keep: true }) })
      const reply = await bench.send('DELETE', `/scopes/${bench.scope}`)
      expect(reply.status < 300, `the status of DELETE is ${reply.status}`)
      const { status } = await bench.send('GET', bench.jobPath('gone'))
      expect(status === 404 || status === 410, `a job of it answers ${status}`)
      const output = await bench.send('GET', bench.jobPath('gone', '/output'))
      expectRefused('its output', output, status, status === 404 ? 'not_found' : 'gone')
    },
  },
]
