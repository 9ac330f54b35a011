/** Every command × {idle, in a run, a viewer that may only look} against the page's tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMAND_TYPES, type Command, type CommandType, commandRules } from '@beige/protocol'
import { taskScript } from '@beige/test-support'
import { hostBench, response } from '../../test/host-bench.ts'
import { UNSUPPORTED } from './table.ts'

/** A command of each type that has what its schema asks for. */
const SAMPLES: { readonly [T in CommandType]?: object } = {
  prompt: { message: 'hi' },
  steer: { message: 'more' },
  follow_up: { message: 'then' },
  unqueue: { queue_id: 'none' },
  switch_model: { model: 'fake/scripted' },
  get_run: { run_id: 'RUN' },
  switch_branch: { target_id: 'RUN' },
  set_label: { target_id: 'RUN', label: 'here' },
  get_label: { target_id: 'RUN' },
  append_custom: { kind: 'mine', data: 1 },
  set_session_name: { title: 'a\nname' },
  switch_session: { session_id: 'SELF' },
  delete_session: { session_id: 'nowhere' },
  restore_session: { session_id: 'nowhere' },
  set_model: { model: 'fake/scripted:high' },
  set_thinking: { budget: null },
  set_reasoning_effort: { effort: 'low' },
  set_auto_compaction: { enabled: true },
  set_auto_retry: { enabled: true },
  set_block_images: { enabled: true },
  set_image_auto_resize: { enabled: true },
  set_steering_mode: { mode: 'all' },
  set_follow_up_mode: { mode: 'all' },
  bash: { command: 'true' },
  get_job_output: { job: 1 },
  kill_job: { job: 1 },
  approve: { request_id: 'none', decision: 'allow' },
  login: { provider: 'x' },
  submit_code: { code: 'x' },
  logout: { provider: 'x' },
  mcp_complete: { server: 'x', ref: {}, argument: {} },
  elicit: { request_id: 'x', action: 'cancel' },
  sample: { request_id: 'x' },
  set_mcp_apps: { enabled: true },
  mcp_app_request: { server: 'x', app_id: 'x', request: { method: 'x' } },
  mcp_events_subscribe: { server: 'x', name: 'x' },
  mcp_events_unsubscribe: { server: 'x', name: 'x' },
}

/** What a command answers when everything about it is in order but the thing that it names is not there. */
const NOT_THERE: { readonly [T in CommandType]?: string } = {
  restore_session: 'not_found',
  get_job_output: 'not_found',
  kill_job: 'not_found',
  bash: 'unsupported', // there is no such tool here
  switch_session: 'unsupported', // this viewer is no connection that could move
}

function sampleOf(type: CommandType, runId: string, self: string): object {
  const text = JSON.stringify({ ...SAMPLES[type], type, id: type })
  const command: object = JSON.parse(text.replaceAll('"RUN"', `"${runId}"`).replaceAll('"SELF"', `"${self}"`))
  return command
}

for (const type of COMMAND_TYPES) {
  test(`${type}: idle, in a run, and from a viewer that may only look`, async () => {
    await using bench = await hostBench(
      taskScript([
        { text: 'first' },
        { calls: [{ name: 'count', input: { to: 1 } }] },
        { text: 'done' },
        { text: 'on' },
      ]),
    )
    const rule = commandRules[type]
    const running = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    let isHeld = true
    const live = await bench.open({
      run: async (_input, { signal }) => {
        running.resolve()
        const aborted = new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        )
        if (isHeld) await Promise.race([release.promise, aborted])
        return { content: [{ type: 'text', text: 'counted' }], isError: false, outcome: 'done', details: {} }
      },
    })
    const viewer = bench.viewer()
    const looker = bench.viewer(undefined, 'view')
    live.attach(viewer)
    live.attach(looker)
    await live.handle({ type: 'prompt', id: 'before', message: 'begin' }, viewer)
    const runId = String(response(viewer.frames, 'before')?.data?.run_id)
    const command = sampleOf(type, runId, live.id)
    const isUnsupported = UNSUPPORTED.includes(type)

    await live.handle(command, looker)
    const looked = response(looker.frames, type)
    if (rule.changes) assert.equal(looked?.code, 'forbidden')
    else if (!isUnsupported) assert.equal(looked?.code, NOT_THERE[type], JSON.stringify(looked))

    await live.handle(command, viewer)
    await live.run?.ended // a steer that found nobody at work
    const idle = response(viewer.frames, type)
    const expected = isUnsupported ? 'unsupported' : NOT_THERE[type]
    assert.deepEqual([idle?.success, idle?.code], [expected === undefined, expected], JSON.stringify(idle))

    if (type === 'prompt' || type === 'abort' || isUnsupported || rule.during === 'C') return
    const prompt = live.handle({ type: 'prompt', id: 'long', message: 'work' }, viewer)
    await Promise.race([running.promise, prompt])
    if (live.run) {
      const before = viewer.frames.length
      await live.handle(command, viewer)
      const inRun = response(viewer.frames.slice(before), type)
      if (rule.during === 'B') assert.equal(inRun?.code, 'busy')
      else assert.equal(inRun?.code, NOT_THERE[type], JSON.stringify(inRun))
    }
    isHeld = false
    release.resolve()
    await prompt
  })
}

test('an unknown field is ignored and named', async () => {
  await using bench = await hostBench([])
  const live = await bench.open()
  const viewer = bench.viewer()
  await live.handle({ type: 'ping', id: '1', colour: 'red' } satisfies Command & { colour: string }, viewer)
  assert.deepEqual(response(viewer.frames, '1')?.warnings, ['unknown field colour was ignored'])
})
