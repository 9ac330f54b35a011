/** Newer models have their own ways to send tools, thinking and effort: each must survive a turn with two calls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@beige/protocol'
import { startModelServer, taskScript } from '@beige/test-support'
import { ask, callsOf, KEY, system, textOf, toolResult, user } from '../test/wires.ts'
import { createModelRouter } from './index.ts'

const script = taskScript([
  {
    thinking: 'First look.',
    text: 'Looking.',
    calls: [
      { name: 'bash', input: { command: 'ls' } },
      { name: 'bash', input: { command: 'pwd' } },
    ],
  },
  ({ results, request }) => ({ text: `${results.map(r => r.text).join('+')} with ${request.tools.join()}` }),
])

for (const [provider, path] of [
  ['anthropic', ''],
  ['openai', '/v1'],
] as const)
  for (const reasoning of [undefined, 'high'] as const)
    test(`${provider}, reasoning ${reasoning ?? 'off'}`, async () => {
      await using server = await startModelServer({ script })
      const router = await createModelRouter({
        providers: { [provider]: { apiKey: KEY, baseUrl: server.url + path } },
        env: {},
        clock: systemClock,
      })
      const models = router.models()
      assert.ok(models.length > 10)
      for (const model of models) {
        const options = reasoning === undefined ? {} : { reasoning }
        const first = await ask({ router, model }, [system, user('go')], options)
        assert.equal(first.outcome.state, 'done', `${model.id}: ${first.message.errorMessage}`)
        const results = callsOf(first.message).map((call, i) => toolResult(call.id, `r${i}`))
        const history = [system, user('go'), first.message, ...results]
        const second = await ask({ router, model }, history, options)
        assert.equal(second.outcome.state, 'done', `${model.id}: ${second.message.errorMessage}`)
        assert.match(textOf(second.message), /^r0\+r1 with bash/)
        const third = await ask({ router, model }, [...history, second.message, user('again')], options)
        assert.equal(third.outcome.state, 'done', `${model.id}: ${third.message.errorMessage}`)
      }
      assert.deepEqual(server.refusals, [])
      for (const request of server.requests)
        assert.doesNotMatch(JSON.stringify(request.body), /"fallbacks"|"thread"/)
    })
