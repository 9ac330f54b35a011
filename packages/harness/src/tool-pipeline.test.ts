import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallOrigin, newCallId, systemClock, systemRandom } from '@beige/protocol'
import { int, obj, opt, str } from '@earendil-works/pi-schema'
import { createLocks } from './locks.ts'
import type { Audit, Policy } from './policy.ts'
import type { Hands, Tool, ToolCall } from './tool.ts'
import { type CallContext, createPipeline, type Journal } from './tool-pipeline.ts'

const noHands: Hands = { id: 'none', open: () => Promise.reject(new Error('no sandbox in this test')) }

/** A pipeline whose every step writes its name down. */
function bench(parts: { policy?: Policy; auditStart?: () => Promise<void>; tool?: Partial<Tool> } = {}) {
  const steps: string[] = []
  const audit: Audit = {
    start: async () => {
      await parts.auditStart?.()
      steps.push('audit start')
    },
    end: async (_story, decision, end) => {
      steps.push(
        end ? `audit end ${end.outcome}` : `audit denied by ${decision.effect === 'deny' ? decision.by : ''}`,
      )
    },
  }
  const journal: Journal = {
    started: async () => void steps.push('tool_started'),
    begun: async () => void steps.push('begun'),
    finished: async (_call, result) => void steps.push(`tool_finished ${result.outcome}`),
  }
  const tool: Tool = {
    name: 'count',
    description: '',
    inputSchema: obj({ to: int({ minimum: 1 }), label: opt(str()) }),
    idempotent: true,
    mode: 'shared',
    run: async input => {
      steps.push(`run ${JSON.stringify(input)}`)
      return { content: [{ type: 'text', text: 'ok' }], isError: false, outcome: 'done', details: {} }
    },
    ...parts.tool,
  }
  const pipeline = createPipeline({
    tools: [tool],
    policy: parts.policy ?? { decide: () => ({ effect: 'allow', rule: 'test' }) },
    audit,
    clock: systemClock,
    locks: createLocks(),
  })
  const call = (input: unknown, name = 'count', origin: CallOrigin = 'model'): ToolCall => ({
    callId: newCallId(systemClock, systemRandom),
    name,
    input,
    origin,
  })
  const context = (signal = new AbortController().signal): CallContext => ({
    sessionId: null,
    hands: noHands,
    cwd: '/workspace',
    signal,
    env: {},
    seenFiles: new Map(),
    journal,
    progress: () => {},
  })
  return { steps, pipeline, call, context }
}

test('nothing runs before its audit start and its tool_started are durable', async () => {
  const { steps, pipeline, call, context } = bench()
  await pipeline.runCall(call({ to: 3 }), context())
  assert.deepEqual(steps, [
    'audit start',
    'tool_started',
    'run {"to":3}',
    'audit end done',
    'tool_finished done',
  ])
})

test('H34-numbers-are-checked-on-every-route: coerced where it is safe, refused with the place where it is not', async () => {
  for (const origin of ['model', 'launcher', 'http', 'plugin', 'user'] as const) {
    const { steps, pipeline, call, context } = bench()
    await pipeline.runCall(call({ to: '42' }, 'count', origin), context())
    assert.equal(steps[2], 'run {"to":42}')
    const refused = await pipeline.runCall(call({ to: '1; rm -rf /' }, 'count', origin), context())
    assert.equal(refused.details.code, 'invalid_input')
    assert.match(JSON.stringify(refused.content), /\/to/)
    assert.equal(steps.at(-2), 'audit denied by validation')
  }
})

test('an unknown key names the nearest known one', async () => {
  const { pipeline, call, context } = bench()
  const result = await pipeline.runCall(call({ to: 1, lable: 'x' }), context())
  assert.match(JSON.stringify(result.content), /lable.*did you mean \\"label\\"/)
})

test('an unknown tool is refused with the nearest name and audited', async () => {
  const { steps, pipeline, call, context } = bench()
  const result = await pipeline.runCall(call({}, 'cuont'), context())
  assert.equal(result.details.code, 'unknown_tool')
  assert.match(JSON.stringify(result.content), /did you mean count/)
  assert.deepEqual(steps, ['audit denied by validation', 'tool_finished done'])
})

test('H79-a-denial-is-audited-as-a-denial: and the tool does not run', async () => {
  const policy: Policy = {
    decide: () => ({ effect: 'deny', by: 'policy', rule: 'r1', reason: 'not for you' }),
  }
  const { steps, pipeline, call, context } = bench({ policy })
  const result = await pipeline.runCall(call({ to: 1 }), context())
  assert.deepEqual(steps, ['audit denied by policy', 'tool_finished done'])
  assert.equal(result.isError, true)
  assert.deepEqual(result.content, [{ type: 'text', text: 'not for you' }])
})

test('a caller learns of a denied name nothing about whether it exists', async () => {
  const policy: Policy = { decide: () => ({ effect: 'deny', by: 'policy', rule: 'r1', reason: 'no' }) }
  const { pipeline, call, context } = bench({ policy })
  const known = await pipeline.runCall(call({}, 'count', 'launcher'), context())
  const unknown = await pipeline.runCall(call({}, 'nothing', 'launcher'), context())
  assert.deepEqual(known, unknown)
})

test('no audit, no tool: the call throws and nothing ran', async () => {
  const { steps, pipeline, call, context } = bench({ auditStart: () => Promise.reject(new Error('ENOSPC')) })
  await assert.rejects(pipeline.runCall(call({ to: 1 }), context()), { code: 'audit' })
  assert.deepEqual(steps, [])
})

test('an abort while it runs is an interrupted result, a failure is an error result; both are audited as such', async () => {
  const stop = new AbortController()
  const waits = bench({
    tool: {
      run: (_input, context) =>
        new Promise((_resolve, reject) =>
          context.signal.addEventListener('abort', () => reject(context.signal.reason)),
        ),
    },
  })
  const running = waits.pipeline.runCall(waits.call({ to: 1 }), waits.context(stop.signal))
  stop.abort(new Error('stopped'))
  assert.equal((await running).outcome, 'interrupted')
  assert.ok(waits.steps.includes('audit end interrupted'))

  const fails = bench({ tool: { run: () => Promise.reject(new Error('boom')) } })
  const result = await fails.pipeline.runCall(fails.call({ to: 1 }), fails.context())
  assert.deepEqual([result.isError, result.details.code], [true, 'internal'])
  assert.ok(fails.steps.includes('audit end failed'))
})
