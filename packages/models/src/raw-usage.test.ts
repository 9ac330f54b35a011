/** Token counts where vendors put them, in bytes that a library drops. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawUsage } from './raw-usage.ts'

const line = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`
const CASES: [string, string, Record<string, number> | null][] = [
  ['nothing', line({ choices: [] }), null],
  ['zeros', line({ usage: { prompt_tokens: 0, completion_tokens: 0 } }), null],
  ['no JSON', 'data: usage\n\n', null],
  [
    'a last chunk without choices',
    line({
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } },
    }),
    { input: 6, output: 3, cacheRead: 4 },
  ],
  [
    'Groq: x_groq',
    line({ x_groq: { id: 'r', usage: { prompt_tokens: 10, completion_tokens: 3 } } }),
    { input: 10, output: 3 },
  ],
  [
    'Moonshot: in the choice',
    line({ choices: [{ usage: { prompt_tokens: 5, completion_tokens: 1 } }] }),
    { input: 5, output: 1 },
  ],
  [
    'DeepSeek: hits',
    line({ usage: { prompt_tokens: 10, completion_tokens: 3, prompt_cache_hit_tokens: 8 } }),
    { input: 2, output: 3, cacheRead: 8 },
  ],
  [
    'Anthropic: tiers, the later line over the earlier',
    line({
      type: 'message_start',
      message: {
        usage: {
          input_tokens: 9,
          cache_read_input_tokens: 100,
          cache_creation_input_tokens: 50,
          cache_creation: { ephemeral_1h_input_tokens: 20 },
          output_tokens: 1,
        },
      },
    }) + line({ type: 'message_delta', usage: { output_tokens: 7 } }),
    { input: 9, output: 7, cacheRead: 100, cacheWrite: 50, cacheWrite1h: 20 },
  ],
  [
    'OpenAI: the usage beside an error',
    line({
      type: 'response.failed',
      response: {
        error: { code: 'server_error' },
        usage: {
          input_tokens: 12,
          input_tokens_details: { cached_tokens: 2 },
          output_tokens: 4,
          output_tokens_details: { reasoning_tokens: 3 },
        },
      },
    }),
    { input: 10, output: 4, cacheRead: 2, reasoning: 3 },
  ],
  [
    'Google',
    line({
      usageMetadata: {
        promptTokenCount: 10,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 2,
        thoughtsTokenCount: 5,
      },
    }),
    { input: 6, output: 7, cacheRead: 4, reasoning: 5 },
  ],
]

for (const [name, bytes, expected] of CASES)
  test(name, () => {
    const found = rawUsage(bytes, bytes)
    const { totalTokens: _total, cost: _cost, ...counts } = found ?? { totalTokens: 0, cost: null }
    const known = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
    assert.deepEqual(found === null ? null : known, expected)
  })
