/** What every wire must carry, against the vendor's own rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { ask, bench, callsOf, system, textOf, toolResult, user, WIRES } from '../test/wires.ts'

for (const api of WIRES) {
  test(`${api}: text comes in pieces and whole`, async () => {
    await using b = await bench(api, [{ text: 'The answer is forty-two, as ever.', chunkChars: 5 }])
    const { message, outcome, events } = await ask(b, [system, user('why')])
    assert.equal(outcome.state, 'done')
    assert.equal(textOf(message), 'The answer is forty-two, as ever.')
    assert.ok(events.filter(event => event.type === 'text_delta').length > 3)
    assert.equal(events.at(-1)?.type, 'done')
    assert.equal(message.stopReason, 'stop')
  })

  test(`${api}: two calls in one message, answered, and the history is taken back`, async () => {
    const script = taskScript([
      {
        thinking: 'Look first.',
        text: 'I will look.',
        calls: [
          { name: 'bash', input: { command: 'ls' } },
          { name: 'bash', input: { command: 'pwd' } },
        ],
      },
      ({ results }) => ({ text: results.map(result => result.text).join(' and ') }),
    ])
    await using b = await bench(api, script, { reasoning: true })
    const first = await ask(b, [system, user('where am I')])
    assert.equal(first.message.stopReason, 'toolUse')
    const [ls, pwd] = callsOf(first.message)
    assert.deepEqual([ls?.arguments, pwd?.arguments], [{ command: 'ls' }, { command: 'pwd' }])
    assert.notEqual(ls?.id, pwd?.id)
    const history = [
      system,
      user('where am I'),
      first.message,
      toolResult(ls?.id ?? '', 'a file'),
      toolResult(pwd?.id ?? '', '/work'),
    ]
    const second = await ask(b, history)
    assert.equal(textOf(second.message), 'a file and /work')
    assert.deepEqual(b.server.refusals, [])
  })

  test(`${api}: usage is the provider's own`, async () => {
    const usage = { inputTokens: 1200, outputTokens: 34, cacheReadTokens: 800, cacheWriteTokens: 0 }
    await using b = await bench(api, [{ text: 'ok', usage }])
    const { message } = await ask(b, [system, user('hi')])
    assert.deepEqual([message.usage.input, message.usage.output, message.usage.cacheRead], [1200, 34, 800])
  })

  test(`${api}: the output limit is a stop, not a failure`, async () => {
    await using b = await bench(api, [{ text: 'half a sent', stop: 'max_tokens' }])
    const { message, outcome } = await ask(b, [system, user('hi')])
    assert.deepEqual([message.stopReason, outcome.state], ['length', 'done'])
  })

  // Gemini's arguments are an object, not a text that could be cut.
  const cutsArguments = api !== 'google-generative-ai'
  test(`${api}: arguments that are no JSON are said to be so`, { skip: !cutsArguments }, async () => {
    await using b = await bench(api, [{ calls: [{ name: 'bash', rawInput: '{"command": "ls' }] }])
    const { message } = await ask(b, [system, user('hi')])
    const [call] = callsOf(message)
    assert.deepEqual(call?.arguments, {})
    assert.ok(call?.argumentsError?.includes('{"command": "ls'))
  })

  test(`${api}: broken surrogates do not reach the vendor`, async () => {
    await using b = await bench(api, taskScript([{ calls: [{ name: 'bash', input: {} }] }]))
    const first = await ask(b, [system, user('half \ud83d a smile 🙂')])
    const [call] = callsOf(first.message)
    const second = await ask(b, [
      system,
      user('half \ud83d a smile 🙂'),
      first.message,
      toolResult(call?.id ?? '', 'cut \ude42 here'),
    ])
    assert.equal(second.outcome.state, 'done')
    assert.deepEqual(b.server.refusals, [])
    assert.match(JSON.stringify(b.server.requests[0]?.body), /🙂/)
  })

  test(`${api}: a history with an open call is refused by the referee`, async () => {
    await using b = await bench(api, taskScript([{ calls: [{ name: 'bash', input: {} }] }]))
    const first = await ask(b, [system, user('go')])
    const [call] = callsOf(first.message)
    const stray = toolResult(`${call?.id}x`, 'of another call')
    const second = await ask(b, [system, user('go'), stray, user('again')])
    assert.equal(second.outcome.state, 'failed')
    assert.equal(b.server.refusals.length, 1)
  })
}
