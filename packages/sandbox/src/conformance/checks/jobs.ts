/** Commands that outlive their caller: kept, talked to, found again. */
import { expectRefused, field, jobStateOf, jsonOf, TICK } from '../bench.ts'
import { type Check, expect, expectEqual } from '../check.ts'
import { bytesOf } from '../frame-reader.ts'

export const jobChecks: readonly Check[] = [
  {
    name: 'job survives disconnect',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const [file, go] = [bench.path('ticks'), bench.path('go')]
      const script = `echo first; until [ -e "$2" ]; do echo >> "$1"; sleep 0.1; done; echo last; exit 3`
      const reader = await bench.stream({
        ...bench.sh(script, file, go),
        job: bench.job('kept', { keep: true }),
      })
      expectEqual('the id in the start frame', (await reader.nextOf('start')).job, 'kept')
      await reader.nextOf('stdout')
      reader.close()
      await bench.untilTicking(file)
      expect(!(await bench.isStill(file)), 'it does not run any more')
      expectEqual('its state', (await bench.state('kept')).state, 'running')
      await bench.write(go)
      const frames = await (await bench.frames(bench.jobPath('kept', '/output'))).rest()
      expectEqual('its whole output', bytesOf(frames, 'stdout').toString(), 'first\nlast\n')
      const last = frames.at(-1)
      expectEqual('its end', last?.type === 'exit' && last.exit_code, 3)
    },
  },
  {
    name: 'a job that is not kept ends with its connection',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      const reader = await bench.stream({ ...bench.sh(TICK, file), job: bench.job('unkept') })
      await reader.nextOf('start')
      await bench.untilTicking(file)
      reader.close()
      await bench.untilStill(file)
      await bench.until('its state says so', async () => (await bench.state('unkept')).state === 'exited')
    },
  },
  {
    name: 'keep of a running stream',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      const reader = await bench.stream({ ...bench.sh(`echo out; ${TICK}`, file), job: bench.job('later') })
      await reader.nextOf('stdout')
      const patch = { body: '{"keep":true}', headers: { 'content-type': 'application/json' } }
      expectEqual(
        'the status of PATCH',
        (await bench.send('PATCH', bench.jobPath('later'), patch)).status,
        200,
      )
      reader.close()
      await bench.untilTicking(file)
      expect(!(await bench.isStill(file)), 'it does not run any more')
      const ended = await bench.send('DELETE', bench.jobPath('later'))
      expect(jobStateOf(ended).stdout_bytes >= 4, 'its output is not counted')
      const late = await bench.send('PATCH', bench.jobPath('later'), patch)
      expectRefused('PATCH of one that has ended', late, 409, 'conflict')
    },
  },
  {
    name: 'a stream without a job has an id that can be kept',
    features: ['stream', 'jobs'],
    programs: ['sh', 'sleep', 'cat'],
    async run(bench) {
      const file = bench.path('ticks')
      const reader = await bench.stream(bench.sh(TICK, file))
      const path = `/jobs/${encodeURIComponent((await reader.nextOf('start')).job)}`
      expectEqual(
        'the status of PATCH',
        (await bench.send('PATCH', path, { body: '{"keep":true}' })).status,
        200,
      )
      reader.close()
      await bench.untilTicking(file)
      const runs = !(await bench.isStill(file))
      const ended = await bench.send('DELETE', path)
      expect(runs, 'it does not run any more')
      expectEqual('its state after DELETE', jobStateOf(ended).state, 'exited')
    },
  },
  {
    name: 'stdin of a running job',
    features: ['stream', 'jobs'],
    programs: ['sh', 'cat'],
    async run(bench) {
      const reader = await bench.stream({
        ...bench.sh('while read -r line; do echo "got $line"; done; echo closed'),
        stdin: Buffer.from('zero\n').toString('base64'),
        stdin_open: true,
        job: bench.job('asks', { keep: true }),
      })
      const said = async () => Buffer.from((await reader.nextOf('stdout')).data, 'base64').toString()
      expectEqual('what it got with the request', await said(), 'got zero\n')
      const give = (text: string, more = '') =>
        bench.send('POST', bench.jobPath('asks', '/stdin', more), { body: text })
      expect((await give('one\n')).status < 300, 'stdin is refused')
      expectEqual('what it got', await said(), 'got one\n')
      expect((await give('two\n', 'eof=1')).status < 300, 'the last stdin is refused')
      expectEqual('the rest', bytesOf(await reader.rest(), 'stdout').toString(), 'got two\nclosed\n')
      expectRefused('stdin of one that has ended', await give('three\n'), 409, 'conflict')
    },
  },
  {
    name: 'a job is listed and described',
    features: ['jobs'],
    programs: ['sh'],
    async run(bench) {
      const body = bench.sh('echo out; echo error >&2; exit 9')
      await bench.run({ ...body, job: bench.job('described') })
      const reply = await bench.send('GET', `/jobs?scope=${bench.scope}`)
      const listed = field(jsonOf(reply), 'jobs')
      expect(Array.isArray(listed) && listed.length === 1, 'not a list of one job')
      const state: unknown = listed[0]
      const wanted = {
        id: 'described',
        scope: bench.scope,
        command: body.command,
        state: 'exited',
        exit_code: 9,
      }
      const counts = { signal: null, timed_out: false, stdout_bytes: 4, stderr_bytes: 6, dropped_bytes: 0 }
      for (const [name, value] of Object.entries({ ...wanted, ...counts })) {
        expectEqual(name, field(state, name), value)
      }
      for (const name of ['pid', 'started_at', 'ended_at', 'args', 'cwd', 'kept']) {
        expect(field(state, name) !== undefined, `${name} is absent`)
      }
      const unknown = await bench.send('GET', bench.jobPath('never'))
      expectRefused('a job that never was', unknown, 404, 'not_found')
    },
  },
]
