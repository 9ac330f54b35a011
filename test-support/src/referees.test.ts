/** The referees say what the vendors say: each rule, broken once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateAnthropic } from './validate-anthropic.ts'
import { validateOpenAiChat } from './validate-openai-chat.ts'
import { validateOpenAiResponses } from './validate-openai-responses.ts'

const ask = { role: 'user', content: 'go' }

const use = (...ids: string[]) => ({
  role: 'assistant',
  content: ids.map(id => ({ type: 'tool_use', id, name: 'bash', input: {} })),
})
const results = (...ids: string[]) => ({
  role: 'user',
  content: ids.map(tool_use_id => ({ type: 'tool_result', tool_use_id, content: 'ok' })),
})
const text = (value: string) => ({ type: 'text', text: value })
const cached = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }

const ANTHROPIC: [string, object[], RegExp | null][] = [
  ['a round trip', [ask, use('a', 'b'), results('b', 'a'), ask], null],
  ['two messages of the user in a row', [ask, ask], null],
  [
    'the assistant begins',
    [{ role: 'assistant', content: 'hi' }, ask],
    /first message must use the "user" role/,
  ],
  ['the assistant is last', [ask, { role: 'assistant', content: 'hi' }], /must end with a user message/],
  [
    'a call without result',
    [ask, use('a'), ask],
    /ids were found without `tool_result` blocks immediately after: a/,
  ],
  ['one of two results', [ask, use('a', 'b'), results('a')], /immediately after: b/],
  ['a late result', [ask, use('a'), ask, results('a')], /immediately after: a/],
  ['a result without call', [ask, results('x')], /unexpected `tool_use_id`.*: x/],
  ['a result twice', [ask, use('a'), results('a', 'a')], /single result/],
  ['an id twice', [ask, use('a'), results('a'), use('a'), results('a')], /ids must be unique/],
  ['an empty text', [{ role: 'user', content: [text('')] }], /must be non-empty/],
  ['white space', [{ role: 'user', content: ' \n' }], /non-whitespace/],
  ['no content', [{ role: 'user', content: [] }], /non-empty content/],
  [
    'text before a result',
    [ask, use('a'), { role: 'user', content: [text('well'), ...results('a').content] }],
    /must come before/,
  ],
  ['an odd id', [ask, use('a|b'), results('a|b')], /should match pattern/],
  [
    'input that is no object',
    [
      ask,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'n', input: '{}' }] },
      results('a'),
    ],
    /valid dictionary/,
  ],
  [
    'foreign thinking',
    [ask, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 'y' }] }, ask],
    /Invalid `signature`/,
  ],
  ['half a pair', [{ role: 'user', content: 'a \ud800' }], /no low surrogate/],
  [
    'too many cache marks',
    [{ role: 'user', content: [cached, cached, cached, cached, cached] }],
    /maximum of 4/,
  ],
]
for (const [name, messages, expected] of ANTHROPIC)
  test(`Anthropic: ${name}`, () =>
    check(
      validateAnthropic({ model: 'm', max_tokens: 9, stream: true, messages }, { 'anthropic-version': 'x' }),
      expected,
    ))

test('Anthropic: fields', () => {
  const headers = { 'anthropic-version': '2023-06-01' }
  check(validateAnthropic({ model: 'm', messages: [ask] }, headers), /max_tokens: Field required/)
  check(validateAnthropic({ model: 'm', max_tokens: 1, messages: [ask] }, {}), /anthropic-version/)
  const tools = [{ name: 'a', input_schema: { type: 'object' } }]
  const body = { model: 'm', max_tokens: 1, messages: [ask] }
  check(validateAnthropic({ ...body, tools: [...tools, ...tools] }, headers), /unique/)
  check(
    validateAnthropic(
      { ...body, tools: [{ name: 'a', input_schema: { type: 'object', oneOf: [] } }] },
      headers,
    ),
    /oneOf/,
  )
  const thinking = { type: 'enabled', budget_tokens: 2048 }
  check(validateAnthropic({ ...body, thinking }, headers), /greater than `thinking.budget_tokens`/)
})

const calls = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'bash', arguments: '{}' } })),
})
const tool = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'ok' })

const CHAT: [string, object[], RegExp | null][] = [
  ['a round trip', [ask, calls('a', 'b'), tool('b'), tool('a'), ask], null],
  ['a call without answer', [ask, calls('a'), ask], /did not have response messages: a/],
  ['a call without answer at the end', [ask, calls('a')], /did not have response messages: a/],
  ['an answer without call', [ask, tool('a')], /must be a response to a preceeding message/],
  ['an answer to another call', [ask, calls('a'), tool('x')], /'x' not found/],
  ['an answer twice', [ask, calls('a'), tool('a'), tool('a')], /answered twice/],
  ['a late answer', [ask, calls('a'), tool('a'), ask, tool('a')], /must be a response/],
  ['an id twice', [ask, calls('a', 'a')], /duplicate id/],
  ['an endless id', [ask, calls('a'.repeat(41))], /1 to 40 characters/],
  ['nothing said', [ask, { role: 'assistant', content: null }, ask], /expected a string, got null/],
  [
    'arguments that are no JSON',
    [
      ask,
      {
        role: 'assistant',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'b', arguments: '{' } }],
      },
    ],
    /text of a JSON object/,
  ],
  ['half a pair', [{ role: 'user', content: '\udc00' }], /lone surrogate/],
]
for (const [name, messages, expected] of CHAT)
  test(`OpenAI Chat: ${name}`, () =>
    check(validateOpenAiChat({ model: 'm', stream: true, messages }), expected))

const call = (call_id: string, id?: string) => ({
  type: 'function_call',
  call_id,
  name: 'bash',
  arguments: '{}',
  ...(id === undefined ? {} : { id }),
})
const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'ok' })
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }

const RESPONSES: [string, object[], RegExp | null][] = [
  [
    'a round trip',
    [ask, reasoning, call('a', 'fc_1'), call('b', 'fc_2'), output('b'), output('a'), ask],
    null,
  ],
  ['a call without output', [ask, call('a')], /No tool output found for function call a/],
  ['a prompt before the output', [ask, call('a'), ask, output('a')], /No tool output found/],
  [
    'an output without call',
    [ask, output('a')],
    /No tool call found for function call output with call_id a/,
  ],
  ['an output twice', [ask, call('a'), output('a'), output('a')], /Duplicate function call output/],
  ['a call twice', [ask, call('a'), call('a')], /Duplicate function call/],
  ['an item twice', [ask, call('a', 'fc_1'), call('b', 'fc_1')], /Duplicate item/],
  ["another kind's id", [ask, call('a', 'msg_1')], /begins with 'fc'/],
  ['reasoning alone', [ask, reasoning], /without its required following item/],
  ['reasoning that was not kept', [ask, { ...reasoning, encrypted_content: '' }, call('a')], /not persisted/],
  [
    'input text of the assistant',
    [{ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }],
    /Supported values are: output_text/,
  ],
]
for (const [name, input, expected] of RESPONSES)
  test(`OpenAI Responses: ${name}`, () =>
    check(validateOpenAiResponses({ model: 'm', stream: true, store: false, input }), expected))

function check(refusal: { message: string } | null, expected: RegExp | null): void {
  if (expected === null) assert.equal(refusal, null)
  else assert.match(refusal?.message ?? 'nothing refused', expected)
}
