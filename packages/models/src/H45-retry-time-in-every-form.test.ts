/** When to come back, in each form that vendors state it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statedRetry } from './retry-after.ts'

const NOW = Date.UTC(2026, 5, 1, 12, 0, 0)
const DATE = 'Mon, 01 Jun 2026 12:00:00 GMT'
const later = (seconds: number) => new Date(NOW + seconds * 1000)

type Case = [string, Record<string, string>, string, number | null]
const CASES: Case[] = [
  ['nothing', {}, '', null],
  ['retry-after-ms', { 'retry-after-ms': '350' }, '', 350],
  ['retry-after-ms before retry-after', { 'retry-after-ms': '350', 'retry-after': '7' }, '', 350],
  ['seconds', { 'retry-after': '7' }, '', 7000],
  ['parts of a second', { 'retry-after': '1.5' }, '', 1500],
  ['zero', { 'retry-after': '0' }, '', 0],
  ['HTTP date against ours', { 'retry-after': later(90).toUTCString() }, '', 90_000],
  [
    "HTTP date against the answer's, whose clock is an hour off",
    { date: 'Mon, 01 Jun 2026 13:00:00 GMT', 'retry-after': 'Mon, 01 Jun 2026 13:00:20 GMT' },
    '',
    20_000,
  ],
  ['HTTP date that is over', { 'retry-after': later(-5).toUTCString() }, '', 0],
  ['nonsense', { 'retry-after': 'soon' }, '', null],
  ['negative', { 'retry-after': '-3' }, '', null],
  ['ten thousand years', { 'retry-after': '315360000000' }, '', null],
  [
    'Anthropic: a used-up window, RFC 3339',
    {
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': later(42).toISOString(),
      'anthropic-ratelimit-requests-remaining': '900',
      'anthropic-ratelimit-requests-reset': later(3600).toISOString(),
    },
    '',
    42_000,
  ],
  [
    'Anthropic: nothing is used up',
    {
      'anthropic-ratelimit-tokens-remaining': '5',
      'anthropic-ratelimit-tokens-reset': later(42).toISOString(),
    },
    '',
    null,
  ],
  [
    'Anthropic: a plan, epoch seconds',
    {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(NOW / 1000 + 18_000),
    },
    '',
    18_000_000,
  ],
  [
    'Anthropic: a plan that still allows',
    {
      'anthropic-ratelimit-unified-status': 'allowed',
      'anthropic-ratelimit-unified-reset': String(NOW / 1000 + 18_000),
    },
    '',
    null,
  ],
  [
    'OpenAI: 6m0s',
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6m0s' },
    '',
    360_000,
  ],
  [
    'OpenAI: of two used-up windows the later',
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '120ms',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '1h2m3.5s',
    },
    '',
    3_723_500,
  ],
  [
    'OpenRouter: epoch ms',
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW + 5000) },
    '',
    5000,
  ],
  ['draft: seconds from now', { 'ratelimit-remaining': '0', 'ratelimit-reset': '30' }, '', 30_000],
  ['Google: retryDelay', {}, '{"error":{"details":[{"retryDelay":"34s"}]}}', 34_000],
  ['plan: resets_in_seconds', {}, '{"error":{"resets_in_seconds": 602705}}', 602_705_000],
  ['plan: resets_at', { date: DATE }, `{"resets_at": ${NOW / 1000 + 7200}}`, 7_200_000],
  ['text: try again in 1m2.5s', {}, 'Limit reached. Please try again in 1m2.5s.', 62_500],
  ['text: try again in 350ms', {}, 'Please try again in 350ms', 350],
  ['text: retry after 26 seconds', {}, 'Please retry after 26 seconds.', 26_000],
  [
    'OpenRouter: the headers of the provider behind it',
    {},
    `{"error":{"metadata":{"headers":{"X-RateLimit-Reset":"${NOW + 90_000}"}}}}`,
    90_000,
  ],
  ['text: reset at a time in UTC', {}, 'Your limit will reset at 2026-06-01 13:00:00Z', 3_600_000],
  ['text that only sounds so', {}, 'try again in a moment', null],
  ['a header beats the body', { 'retry-after': '3' }, 'try again in 60s', 3000],
]

for (const [name, headers, body, expected] of CASES)
  test(name, () => {
    assert.equal(statedRetry(headers, body, NOW)?.afterMs ?? null, expected)
  })

test('a time without a zone is in the zone of the vendor', () => {
  const body = 'Usage limit reached. Your limit will reset at 2026-06-01 21:00:00'
  assert.equal(statedRetry({}, body, NOW, '+08:00')?.afterMs, 3_600_000)
  assert.equal(statedRetry({}, body, NOW)?.afterMs, 9 * 3_600_000)
})

test('only the head of a body is searched', () => {
  assert.equal(statedRetry({}, `${'x'.repeat(20_000)} try again in 5s`, NOW), null)
  assert.equal(statedRetry({}, `try again in ${'1s'.repeat(200_000)}`, NOW), null)
})
