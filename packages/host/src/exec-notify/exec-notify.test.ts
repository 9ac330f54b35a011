import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, type ExecJobState, type Frame, systemClock } from '@beige/protocol'
import { type SeenRequest, turnFor } from '@beige/test-support'
import { type HostBench, hostBench, response } from '../../test/host-bench.ts'
import type { SessionHost } from '../host.ts'
import type { LiveSession } from '../live-session.ts'
import type { SessionSetup } from '../setup.ts'
import { createExecNotify, type ExecNotifyRequest } from './exec-notify.ts'
import { keepInLog } from './keep-in-log.ts'
import { mintNotifyToken } from './notify-token.ts'

const KEY = new Uint8Array(32).fill(7)
const HOUR_S = 3600
/** Two seconds of the product are a tenth of one here. */
const HASTY: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 20, signal) }

type Bench = HostBench & {
  seen: SeenRequest[]
  live: LiveSession
  /** As the sandbox says it; `changes` are those of a wrong one. */
  request(changes?: Partial<ExecNotifyRequest>): ExecNotifyRequest
  state: ExecJobState
  notify: (request: ExecNotifyRequest, host?: SessionHost) => ReturnType<ReturnType<typeof createExecNotify>>
  ends(): unknown[]
}

/** A session with the numbered job 1, which its owner left running. */
async function notifyBench(setup: Partial<SessionSetup> = {}): Promise<Bench> {
  const seen: SeenRequest[] = []
  const script = [...Array(5)].map((_, index) => ({ text: `answer ${index}` }))
  const bench = await hostBench(
    request => {
      seen.push(request)
      return turnFor(script, request)
    },
    setup,
    HASTY,
  )
  const live = await bench.open()
  await prompted(live, bench, 'p0')
  const { id } = live
  const job = { number: 1, id: 'c_1', scope: id, instance: 'i', command: 'make', started_at: 1000 }
  await live.session.append({ type: 'custom', kind: 'beige.job', data: { event: 'numbered', ...job } })
  const state: ExecJobState = {
    ...{ id: 'c_1', scope: id, command: 'make', args: [], cwd: null, state: 'exited', pid: null },
    ...{ started_at: 1000, ended_at: 13_000, exit_code: 7, signal: null, timed_out: false, kept: true },
    ...{ stdout_bytes: 0, stderr_bytes: 0, dropped_bytes: 0 },
  }
  const exp = Math.ceil(systemClock.now() / 1000) + HOUR_S
  const token = mintNotifyToken(KEY, { tenant: '', session_id: id, scope: id, exp })
  return {
    ...bench,
    ...{ seen, live, state },
    request: changes => ({ sessionId: id, authorization: `Bearer ${token}`, body: state, ...changes }),
    notify: (request, host = bench.host) =>
      createExecNotify({
        host,
        keys: [KEY],
        keep: (session, ended) => keepInLog(host.store, session, ended),
        clock: systemClock,
      })(request),
    ends: () =>
      live.session.log.records.filter(
        record => record.type === 'custom' && /"ended"/.test(JSON.stringify(record)),
      ),
  }
}

async function prompted(live: LiveSession, bench: HostBench, id: string): Promise<Frame[]> {
  const viewer = bench.viewer()
  await live.handle({ type: 'prompt', id, message: `and now ${id}?` }, viewer)
  const { detach } = live.attach(viewer)
  detach()
  return viewer.frames
}

const TOLD = /Background job 1 ended: exit code 7 after 12 s\.\\nCommand: make/

test('live here: written down once, shown to viewers, and the model is told at the next run', async () => {
  await using bench = await notifyBench()
  const viewer = bench.viewer()
  bench.live.attach(viewer)
  for (let times = 0; times < 3; times++) {
    assert.deepEqual(await bench.notify(bench.request()), { status: 202, outcome: 'live' })
  }
  assert.equal(bench.ends().length, 1)
  const updates = viewer.frames.flatMap(frame =>
    frame.type === 'event' && frame.event.kind === 'job_update' ? [frame.event] : [],
  )
  assert.deepEqual(updates, [{ kind: 'job_update', job: 1, state: 'ended', exit_code: 7, signal: null }])
  assert.equal(bench.seen.length, 1, 'it begins no run')
  await prompted(bench.live, bench, 'p1')
  assert.match(JSON.stringify(bench.seen.at(-1)?.messages), TOLD)
})

test('live nowhere: kept in the log by whoever is told, for the next owner', async () => {
  await using bench = await notifyBench()
  await bench.closeHost()
  const replica = bench.another()
  for (let times = 0; times < 2; times++) {
    assert.deepEqual(await bench.notify(bench.request(), replica), { status: 202, outcome: 'kept' })
  }
  const next = await bench.another().session(bench.live.id, null)
  await prompted(next, bench, 'p1')
  assert.match(JSON.stringify(bench.seen.at(-1)?.messages), TOLD)
})

test('live elsewhere: try again, and whose it is', async () => {
  await using bench = await notifyBench()
  const answer = await bench.notify(bench.request(), bench.another())
  assert.equal(answer.status, 503)
  assert.equal(typeof answer.owner, 'string')
  assert.equal(bench.ends().length, 0)
})

test('a job without a number is heard and changes nothing', async () => {
  await using bench = await notifyBench()
  const body = { ...bench.state, id: 'c_2' }
  assert.deepEqual(await bench.notify(bench.request({ body })), { status: 202, outcome: 'live' })
  assert.equal(bench.ends().length, 0)
})

test('whoever has no token of this session is refused, and what is no end of a job too', async () => {
  await using bench = await notifyBench()
  const exp = Math.ceil(systemClock.now() / 1000) + HOUR_S
  const id = bench.live.id
  const bearer = (session_id: string, scope: string) =>
    `Bearer ${mintNotifyToken(KEY, { tenant: '', session_id, scope, exp })}`
  for (const [what, changes, status] of [
    ['no token', { authorization: undefined }, 401],
    ['another word', { authorization: bench.request().authorization?.replace('Bearer', 'Basic') }, 401],
    ['no session', { sessionId: null }, 401],
    ['another session', { sessionId: 's_other' }, 401],
    ['a token of another session', { authorization: bearer('s_other', id) }, 401],
    ['a token of another scope', { authorization: bearer(id, 's_other') }, 401],
    ['a running job', { body: { ...bench.state, state: 'running' } }, 400],
    ['no job', { body: { id: 'c_1' } }, 400],
    ['nothing', { body: null }, 400],
    ['a session that is deleted', { sessionId: 's_gone', authorization: bearer('s_gone', 's_gone') }, 410],
  ] as const) {
    const body = status === 410 ? { ...bench.state, scope: 's_gone' } : bench.state
    const answer = await bench.notify(bench.request({ body, ...changes }))
    assert.deepEqual([answer.status, answer.outcome], [status, 'refused'], what)
  }
  assert.equal(bench.ends().length, 0)
})

test('wake: an end begins a run that is told of it; several within 2 s begin one', async () => {
  await using bench = await notifyBench({ onJobEnd: 'wake' })
  const job = { number: 2, id: 'c_2', scope: bench.live.id, instance: 'i', command: 'test', started_at: 0 }
  await bench.live.session.append({ type: 'custom', kind: 'beige.job', data: { event: 'numbered', ...job } })
  const ended = Promise.withResolvers<void>()
  const viewer = bench.viewer(frame => {
    if (frame.type === 'event' && frame.event.kind === 'agent_end') ended.resolve()
  })
  bench.live.attach(viewer)
  await bench.notify(bench.request())
  await bench.notify(bench.request({ body: { ...bench.state, id: 'c_2' } }))
  await ended.promise
  assert.equal(bench.seen.length, 2)
  const said = JSON.stringify(bench.seen.at(-1)?.messages)
  assert.match(said, TOLD)
  assert.match(said, /Background job 2 ended/)
  const prompt = bench.live.session.log.records.findLast(record => record.type === 'prompt')
  assert.deepEqual(prompt?.type === 'prompt' && prompt.origin, { kind: 'job' })
  assert.equal(response(viewer.frames, 'p0'), undefined)
})
