/** The error table of design page "Gateway" as data: what each vendor sends, and what must be made of it. */
import {
  anthropic,
  claude,
  claudeEvent,
  failed,
  gemini,
  google,
  gpt,
  json,
  only,
  openai,
  other,
  page,
  quota,
  type Row,
  rate,
  sse,
} from './error-shapes.ts'

/** The time that the table's servers and the router's clock agree on. */
export const NOW = Date.UTC(2026, 7, 24, 12, 0, 0)
const SECONDS = 1000
const HOURS = 3_600_000
const later = (ms: number) => new Date(NOW + ms)

const LIMITED = claude('rate_limit_error', 'This request would exceed your rate limit')

export const ROWS: readonly Row[] = [
  anthropic('429, retry-after: 7', json(429, LIMITED, { 'retry-after': '7' }), rate(7 * SECONDS)),
  anthropic('429 without a header', json(429, LIMITED), rate(300 * SECONDS), {
    event: claudeEvent('rate_limit_error', 'This request would exceed your rate limit'),
    streamed: rate(60 * SECONDS),
  }),
  anthropic(
    '429, a window that is used up',
    json(429, LIMITED, {
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': later(42 * SECONDS).toISOString(),
    }),
    rate(42 * SECONDS),
  ),
  anthropic(
    '429, the plan rejected',
    json(429, LIMITED, {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String((NOW + 5 * HOURS) / 1000),
    }),
    quota(5 * HOURS),
  ),
  anthropic('529 overloaded_error', json(529, claude('overloaded_error', 'Overloaded')), only('overloaded'), {
    event: claudeEvent('overloaded_error', 'Overloaded'),
  }),
  anthropic('500 api_error', json(500, claude('api_error', 'Internal server error')), only('transient'), {
    event: claudeEvent('api_error', 'Internal server error'),
  }),
  anthropic('504 timeout_error', json(504, claude('timeout_error', 'Timed out')), only('transient'), {
    event: claudeEvent('timeout_error', 'Timed out'),
  }),
  openai('500 server_error', json(500, gpt('The server had an error', 'server_error')), only('transient'), {
    event: failed('server_error', 'The server had an error'),
  }),
  google('500 INTERNAL', json(500, gemini(500, 'INTERNAL', 'An internal error')), only('transient'), {
    event: sse(gemini(500, 'INTERNAL', 'An internal error')),
  }),
  google('504 DEADLINE_EXCEEDED', json(504, gemini(504, 'DEADLINE_EXCEEDED', 'Deadline')), only('transient')),
  anthropic(
    '400 prompt is too long',
    json(400, claude('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum')),
    only('context_too_long'),
  ),
  anthropic(
    '413 request_too_large',
    json(413, claude('request_too_large', 'Too big')),
    only('context_too_long'),
  ),
  anthropic(
    '400 no credit',
    json(400, claude('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.')),
    quota(60 * SECONDS),
  ),
  anthropic('402 billing_error', json(402, claude('billing_error', 'No money')), quota(60 * SECONDS)),
  other(
    'OpenRouter',
    '402',
    json(402, { error: { code: 402, message: 'Insufficient credits' } }),
    quota(60 * SECONDS),
  ),
  other('DeepSeek', '402', json(402, gpt('Insufficient Balance', 'unknown_error')), quota(60 * SECONDS)),
  anthropic(
    '400 tool_use without tool_result',
    json(
      400,
      claude(
        'invalid_request_error',
        'messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
      ),
    ),
    { class: 'invalid_request', alarm: true },
  ),
  openai(
    '429 with the time in the text',
    json(429, gpt('Rate limit reached. Please try again in 1m2.5s.', 'requests', 'rate_limit_exceeded')),
    rate(62.5 * SECONDS),
  ),
  openai(
    '429, requests used up',
    json(429, gpt('Rate limit reached', 'requests', 'rate_limit_exceeded'), {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '6m0s',
    }),
    rate(360 * SECONDS),
  ),
  openai(
    '429, retry-after-ms: 350',
    json(429, gpt('Slow', 'requests'), { 'retry-after-ms': '350' }),
    rate(1000, 350),
  ),
  openai(
    '429 insufficient_quota',
    json(429, gpt('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota')),
    quota(300 * SECONDS),
    { event: failed('insufficient_quota', 'You exceeded your current quota'), streamed: quota(60 * SECONDS) },
  ),
  openai(
    '503 overloaded',
    json(503, gpt('The engine is currently overloaded, please try again later', 'server_error')),
    only('overloaded'),
    { event: failed('server_is_overloaded', 'Our servers are currently overloaded') },
  ),
  openai('503 slow_down', json(503, gpt('Slow Down', 'server_error', 'slow_down')), rate(60 * SECONDS), {
    event: failed('slow_down', 'Slow Down'),
  }),
  anthropic('401', json(401, claude('authentication_error', 'invalid x-api-key')), only('auth'), {
    event: claudeEvent('authentication_error', 'invalid x-api-key'),
  }),
  anthropic('403', json(403, claude('permission_error', 'Not yours')), only('auth')),
  openai(
    '401',
    json(401, gpt('Incorrect API key', 'invalid_request_error', 'invalid_api_key')),
    only('auth'),
  ),
  google(
    '400 API_KEY_INVALID',
    json(400, gemini(400, 'INVALID_ARGUMENT', 'API key not valid', [{ reason: 'API_KEY_INVALID' }])),
    only('auth'),
  ),
  google('403', json(403, gemini(403, 'PERMISSION_DENIED', 'No')), only('auth')),
  other('any', '403 page with a challenge', page(403, { 'cf-mitigated': 'challenge' }), only('auth')),
  openai(
    '400 context_length_exceeded',
    json(400, gpt('Your input is long', 'invalid_request_error', 'context_length_exceeded')),
    only('context_too_long'),
    { event: failed('context_length_exceeded', 'Your input exceeds the context window of this model') },
  ),
  google(
    '400 token count',
    json(
      400,
      gemini(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
      ),
    ),
    only('context_too_long'),
  ),
  other(
    'vLLM',
    '400',
    json(400, {
      object: 'error',
      message: "This model's maximum context length is 8192 tokens. However, you requested 9000",
      type: 'BadRequestError',
      code: 400,
    }),
    only('context_too_long'),
  ),
  other(
    'Bedrock',
    '400 too long',
    json(
      400,
      { message: 'Input is too long for requested model.' },
      { 'x-amzn-errortype': 'ValidationException:http://x/' },
    ),
    only('context_too_long'),
  ),
  openai(
    '404',
    json(404, gpt('The model `x` does not exist', 'invalid_request_error', 'model_not_found')),
    only('model_missing'),
  ),
  anthropic('404', json(404, claude('not_found_error', 'model: claude-0')), only('model_missing'), {
    event: claudeEvent('not_found_error', 'model: claude-0'),
  }),
  other(
    'Azure',
    '404',
    json(404, { error: { code: 'DeploymentNotFound', message: 'No such deployment' } }),
    only('model_missing'),
  ),
  other(
    'Ollama',
    '404',
    json(404, gpt('model "x" not found, try pulling it first', 'api_error')),
    only('model_missing'),
  ),
  openai('200, a limit with its time', undefined, rate(1500), {
    event: failed('rate_limit_exceeded', 'Rate limit reached for this model. Please try again in 1.5s.'),
  }),
  openai(
    'plan: 429 usage_limit_reached',
    json(429, {
      error: {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        resets_in_seconds: 602705,
      },
    }),
    quota(6 * HOURS, 602_705_000),
  ),
  openai('plan: an error frame', undefined, quota(2 * HOURS), {
    event: sse(
      {
        type: 'error',
        status_code: 429,
        error: {
          type: 'usage_limit_reached',
          message: 'The usage limit has been reached',
          resets_at: (NOW + 2 * HOURS) / 1000,
        },
      },
      'error',
    ),
  }),
  other(
    'Azure',
    '429',
    json(429, { error: { code: '429', message: 'Please retry after 26 seconds.' } }, { 'retry-after': '26' }),
    rate(26 * SECONDS),
  ),
  other(
    'Azure',
    '400 content_filter',
    json(400, gpt('filtered', 'invalid_request_error', 'content_filter')),
    only('refused'),
  ),
  other(
    'OpenRouter',
    '403 moderation',
    json(403, {
      error: {
        code: 403,
        message: 'Your input was flagged',
        metadata: { reasons: ['violence'], flagged_input: 'x', provider_name: 'p' },
      },
    }),
    only('refused'),
  ),
  google(
    '200 blocked prompt',
    {
      headers: { 'content-type': 'text/event-stream' },
      body: sse({
        promptFeedback: { blockReason: 'SAFETY' },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
      }),
    },
    only('refused'),
  ),
  google(
    '429 with RetryInfo',
    json(
      429,
      gemini(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota', [
        {
          '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
          violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }],
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' },
      ]),
    ),
    rate(34 * SECONDS),
  ),
  google('429, an array', json(429, [gemini(429, 'RESOURCE_EXHAUSTED', 'Exhausted')]), rate(300 * SECONDS)),
  google('503', json(503, gemini(503, 'UNAVAILABLE', 'The model is overloaded.')), only('overloaded'), {
    event: sse(gemini(503, 'UNAVAILABLE', 'The model is overloaded.')),
  }),
  google(
    '400 location',
    json(400, gemini(400, 'FAILED_PRECONDITION', 'User location is not supported')),
    only('invalid_request'),
  ),
  other('any', '200 page', page(200), only('invalid_request')),
  other(
    'Bedrock',
    '429',
    json(429, { message: 'Too many tokens, please wait' }, { 'x-amzn-errortype': 'ThrottlingException' }),
    rate(300 * SECONDS),
  ),
  other('Bedrock', '200, then throttlingException', undefined, rate(60 * SECONDS), {
    event: sse({ throttlingException: { message: 'Too many requests, please wait before trying again.' } }),
  }),
  other(
    'Bedrock',
    '408',
    json(408, { message: 'The model timed out' }, { 'x-amzn-errortype': 'ModelTimeoutException' }),
    only('transient'),
  ),
  other(
    'Bedrock',
    '424',
    json(424, { message: 'The model failed' }, { 'x-amzn-errortype': 'ModelErrorException' }),
    only('transient'),
    {
      event: sse({ modelStreamErrorException: { message: 'The model failed' } }),
    },
  ),
  other(
    'OpenRouter',
    '402, retry-after',
    json(402, { error: { code: 402, message: 'x' } }, { 'retry-after': '20' }),
    quota(20 * SECONDS),
  ),
  other(
    'OpenRouter',
    "429 with the provider's headers",
    json(429, {
      error: {
        code: 429,
        message: 'Rate limited',
        metadata: {
          headers: {
            'X-RateLimit-Limit': '20',
            'X-RateLimit-Remaining': '0',
            'X-RateLimit-Reset': String(NOW + 90 * SECONDS),
          },
        },
      },
    }),
    rate(90 * SECONDS),
  ),
  other('OpenRouter', '200, a chunk with an error', undefined, only('transient'), {
    event: sse({
      id: 'gen-1',
      object: 'chat.completion.chunk',
      error: { code: 502, message: 'Provider disconnected' },
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    }),
  }),
  other(
    'Groq',
    '498',
    json(498, gpt('Flex tier capacity exceeded', 'capacity', 'capacity_exceeded')),
    only('overloaded'),
  ),
  other(
    'Mistral',
    '429 tier capacity',
    json(429, {
      object: 'error',
      message: 'Service tier capacity exceeded for this model.',
      type: 'service_tier_capacity_exceeded',
      code: '3505',
    }),
    only('overloaded'),
  ),
  other(
    'Kimi',
    '429',
    json(429, gpt('The engine is currently overloaded', 'engine_overloaded_error')),
    only('overloaded'),
  ),
  other(
    'Bedrock',
    '429 not ready',
    json(429, { message: 'x' }, { 'x-amzn-errortype': 'ModelNotReadyException' }),
    only('overloaded'),
  ),
  other(
    'Groq',
    '413',
    json(
      413,
      gpt(
        'Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000',
        'tokens',
        'rate_limit_exceeded',
      ),
    ),
    only('context_too_long'),
  ),
  other(
    'Z.ai',
    '429 code 1302',
    json(429, { error: { code: '1302', message: 'Too much at once' } }),
    rate(300 * SECONDS),
  ),
  other(
    'Z.ai',
    '429 code 1305',
    json(429, { error: { code: '1305', message: 'The model is temporarily overloaded' } }),
    only('overloaded'),
  ),
  other(
    'Z.ai',
    '429 code 1308',
    json(429, {
      error: {
        code: '1308',
        message: 'Usage limit reached for 5 hour. Your limit will reset at 2026-08-25 01:41:44',
      },
    }),
    quota(Date.UTC(2026, 7, 24, 17, 41, 44) - NOW),
  ),
  other(
    'Z.ai',
    '429 code 1113',
    json(429, { error: { code: '1113', type: 'rate_limit_error', message: 'Insufficient balance' } }),
    quota(300 * SECONDS),
  ),
  other(
    'any',
    '429 page, a date against a clock that is off',
    page(429, { date: later(HOURS).toUTCString(), 'retry-after': later(HOURS + 30 * SECONDS).toUTCString() }),
    rate(30 * SECONDS),
  ),
  other('any', '429, three days', page(429, { 'retry-after': '259200' }), rate(6 * HOURS, 259_200_000)),
  ...['soon', '-5', '1e99'].map(text =>
    other('any', `429, retry-after: ${text}`, page(429, { 'retry-after': text }), rate(300 * SECONDS)),
  ),
  other('any', '503, retry-after: 10', page(503, { 'retry-after': '10' }), {
    class: 'overloaded',
    waitMs: 10_000,
  }),
  ...[520, 521, 522, 523, 524].map(status => other('any', `${status} page`, page(status), only('transient'))),
  // A text that only sounds like it turns no 4xx into something that passes.
  other('any', '400 page that speaks of overload', page(400), only('invalid_request')),
  other(
    'any',
    '422',
    json(422, gpt('the server is temporarily unavailable', 'api_error')),
    only('invalid_request'),
  ),
]
