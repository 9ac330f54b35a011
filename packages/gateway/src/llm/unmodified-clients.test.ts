/** The vendors' own libraries, unmodified, through the gateway, against every wire of a provider. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import {
  lastPrompt,
  type ModelServer,
  type SeenRequest,
  startModelServer,
  type Turn,
} from '@beige/test-support'
import OpenAI from 'openai'
import type { TestGateway } from '../lifecycle/gateway.fixture.ts'
import { gatewayAt, PROVIDER_KEY } from './models.fixture.ts'

const PARAMETERS = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const MODELS = ['one/demo', 'two/demo', 'three/demo', 'scout']

let server: ModelServer
let gateway: TestGateway
let openai: OpenAI
let anthropic: Anthropic

/** Thinks, calls a tool, and says what came back. */
function script(request: SeenRequest): Turn {
  const result = request.messages.flatMap(message => message.results).at(-1)
  if (result !== undefined) return { text: `It is ${result.text} in Oslo.`, usage: { cacheReadTokens: 7 } }
  if (request.tools.length > 0)
    return { thinking: 'Which tool?', text: 'I look.', calls: [{ name: 'weather', input: { city: 'Oslo' } }] }
  return { text: `You said: ${lastPrompt(request)}` }
}

before(async () => {
  server = await startModelServer({ script, apiKey: PROVIDER_KEY })
  gateway = await gatewayAt(server.url)
  const base = `http://127.0.0.1:${gateway.port}`
  const apiKey = gateway.keys.all ?? ''
  openai = new OpenAI({ apiKey, baseURL: `${base}/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ apiKey, baseURL: base, maxRetries: 0 })
})
after(async () => {
  await gateway.close()
  await server.close()
  assert.deepEqual(server.refusals, [], 'no request that a vendor would refuse')
})

for (const model of MODELS) {
  test(`openai chat, ${model}: whole, streamed, with a tool`, async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'hello' },
    ]
    const whole = await openai.chat.completions.create({ model, messages })
    assert.equal(whole.choices[0]?.message.content, 'You said: hello')
    assert.equal(whole.choices[0]?.finish_reason, 'stop')
    assert.ok((whole.usage?.prompt_tokens ?? 0) > 0 && (whole.usage?.completion_tokens ?? 0) > 0)

    const tools: OpenAI.ChatCompletionTool[] = [
      { type: 'function', function: { name: 'weather', description: 'of a city', parameters: PARAMETERS } },
    ]
    const stream = openai.chat.completions.stream({
      model,
      messages,
      tools,
      stream_options: { include_usage: true },
    })
    const first = await stream.finalChatCompletion()
    const said = first.choices[0]?.message
    assert.equal(said?.content, 'I look.')
    assert.equal(first.choices[0]?.finish_reason, 'tool_calls')
    const [call] = said?.tool_calls ?? []
    assert.ok(call?.type === 'function')
    assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ['weather', { city: 'Oslo' }])
    assert.ok((first.usage?.total_tokens ?? 0) > 0)

    assert.ok(said !== undefined)
    const result = { role: 'tool' as const, tool_call_id: call.id, content: 'cold' }
    const second = await openai.chat.completions.create({
      model,
      messages: [...messages, said, result],
      tools,
    })
    assert.equal(second.choices[0]?.message.content, 'It is cold in Oslo.')
    assert.equal(second.usage?.prompt_tokens_details?.cached_tokens, 7)
  })

  test(`openai responses, ${model}: whole, streamed, with a tool and its reasoning`, async () => {
    const whole = await openai.responses.create({ model, instructions: 'Be short.', input: 'hello' })
    assert.equal(whole.output_text, 'You said: hello')
    assert.equal(whole.status, 'completed')

    const tools: OpenAI.Responses.Tool[] = [
      { type: 'function', name: 'weather', description: 'of a city', parameters: PARAMETERS, strict: false },
    ]
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'weather?' }]
    const asked = { model, tools, reasoning: { effort: 'low' as const } }
    const stream = openai.responses.stream({ ...asked, input, include: ['reasoning.encrypted_content'] })
    const kinds: string[] = []
    for await (const event of stream) kinds.push(event.type)
    const first = await stream.finalResponse()
    assert.equal(kinds[0], 'response.created')
    assert.equal(kinds.at(-1), 'response.completed')
    assert.equal(first.output_text, 'I look.')
    const call = first.output.find(item => item.type === 'function_call')
    assert.deepEqual([call?.name, JSON.parse(call?.arguments ?? '')], ['weather', { city: 'Oslo' }])
    const items = first.output.map(item => ({ ...item }))
    const second = await openai.responses.create({
      ...asked,
      input: [
        ...input,
        ...(items as OpenAI.Responses.ResponseInputItem[]), // as the vendor's guide sends an answer back
        { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'cold' },
      ],
    })
    assert.equal(second.output_text, 'It is cold in Oslo.')
  })

  test(`anthropic, ${model}: whole, streamed, with a tool and its thinking`, async () => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hello' }]
    const whole = await anthropic.messages.create({ model, max_tokens: 1000, system: 'Be short.', messages })
    assert.deepEqual(
      whole.content.map(block => block.type === 'text' && block.text),
      ['You said: hello'],
    )
    assert.equal(whole.stop_reason, 'end_turn')

    const asked = {
      model,
      max_tokens: 4000,
      thinking: { type: 'enabled' as const, budget_tokens: 2000 },
      tools: [{ name: 'weather', description: 'of a city', input_schema: PARAMETERS }],
    }
    const stream = anthropic.messages.stream({ ...asked, messages })
    let streamed = ''
    stream.on('text', delta => {
      streamed += delta
    })
    const first = await stream.finalMessage()
    assert.equal(streamed, 'I look.')
    assert.equal(first.stop_reason, 'tool_use')
    const call = first.content.find(block => block.type === 'tool_use')
    assert.deepEqual([call?.name, call?.input], ['weather', { city: 'Oslo' }])
    const second = await anthropic.messages.create({
      ...asked,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'cold' }] },
      ],
    })
    assert.deepEqual(
      second.content.map(block => block.type === 'text' && block.text),
      ['It is cold in Oslo.'],
    )
    assert.equal(second.usage.cache_read_input_tokens, 7)
    const counted = await anthropic.messages.countTokens({ model, messages })
    assert.ok(counted.input_tokens > 0)
  })
}

test('thinking goes back to the model that thought it, and to no other', async () => {
  const asked = {
    max_tokens: 4000,
    thinking: { type: 'enabled' as const, budget_tokens: 2000 },
    tools: [{ name: 'weather', description: 'of a city', input_schema: PARAMETERS }],
  }
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hello' }]
  const first = await anthropic.messages.create({ ...asked, model: 'one/demo', messages })
  const call = first.content.find(block => block.type === 'tool_use')
  const goOn = (model: string) =>
    anthropic.messages.create({
      ...asked,
      model,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'cold' }] },
      ],
    })
  await goOn('one/demo')
  assert.match(JSON.stringify(server.requests.at(-1)?.body), /Which tool\?/)
  await goOn('three/demo')
  assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /Which tool\?/)
})

test('the list of models, for both', async () => {
  const ids = (await openai.models.list()).data.map(model => model.id)
  assert.deepEqual(ids, ['scout', 'one/demo', 'two/demo', 'three/demo'])
  assert.equal((await openai.models.retrieve('one/demo')).owned_by, 'one')
  assert.deepEqual(
    (await anthropic.models.list()).data.map(model => model.id),
    ids,
  )
})

test('an image in the request reaches the provider', async () => {
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  await openai.chat.completions.create({
    model: 'one/demo',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
    ],
  })
  assert.ok(JSON.stringify(server.requests.at(-1)?.body).includes(png))
})

test('forced tools, stop words and formats arrive in the words of the wire', async () => {
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'weather', parameters: PARAMETERS } },
  ]
  const bodyOf = async (model: string) => {
    await openai.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'hello' }],
      tools,
      tool_choice: { type: 'function', function: { name: 'weather' } },
      stop: ['END'],
      top_p: 0.5,
    })
    return JSON.parse(JSON.stringify(server.requests.at(-1)?.body))
  }
  const one = await bodyOf('one/demo')
  assert.deepEqual(
    [one.tool_choice, one.stop_sequences, one.top_p],
    [{ type: 'tool', name: 'weather' }, ['END'], 0.5],
  )
  const two = await bodyOf('two/demo')
  assert.deepEqual(
    [two.tool_choice, two.stop, two.top_p],
    [{ type: 'function', function: { name: 'weather' } }, ['END'], 0.5],
  )
  const three = await bodyOf('three/demo')
  assert.deepEqual([three.tool_choice, three.top_p], [{ type: 'function', name: 'weather' }, 0.5])
})
