/** A command that turns against whatever watches it. Last, since an endpoint that loses here may be gone. */
import { TICK } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'

export const supervisorChecks: readonly Check[] = [
  {
    name: 'killed supervisor leaves nothing',
    programs: ['sh', 'sleep', 'setsid', 'cat'],
    isAlone: true,
    async run(bench) {
      const file = bench.path('ticks')
      const script = `setsid sh -c 'trap "" TERM; ${TICK}' sh "$1" >/dev/null 2>&1 &
        until [ -s "$1" ]; do sleep 0.05; done; kill -KILL $PPID; ${TICK}`
      // Where its parent may not be killed it goes on, and is ended by its time.
      await bench.run({ ...bench.sh(script, file), timeout_ms: 8000 })
      expect(await bench.isStill(file), 'what the command left still runs')
      const after = await bench.run(bench.sh('exit 3'))
      expectEqual('the exit code of the next command', after.exitCode, 3)
      if (bench.health === null) return
      const { instance } = JSON.parse((await bench.send('GET', '/health')).body.toString())
      expectEqual('the instance after it', instance, bench.health.instance)
    },
  },
]
