/** The rows of "Who may connect" that a request's head decides. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { manualClock } from '@beige/test-support'
import { createGuard, type GuardSettings, isKnownHost, type Request } from './guard.ts'
import { openTokens, type Tokens } from './tokens.ts'

const TOKEN = { digest: 'd', role: 'view', name: 'phone' } as const
const tokens: Tokens = {
  find: token => (token === 'good' ? TOKEN : null),
  refresh: () => false,
  has: () => true,
}

function guard(more: Partial<GuardSettings> = {}) {
  return createGuard({
    ...{ hosts: ['agents.example', '.internal'], origins: ['https://app.example'], requireToken: false },
    ...{ tokens, clock: systemClock },
    ...more,
  })
}

function asked(headers: Request['headers'], more: Partial<Request> = {}): Request {
  return {
    kind: 'tcp',
    headers: { host: '127.0.0.1:80', ...headers },
    address: '127.0.0.1',
    isSameUser: () => false,
    ...more,
  }
}

function status(request: Request, settings: Partial<GuardSettings> = {}): number | string {
  const admission = guard(settings).admit(request)
  return admission.ok
    ? (admission.principal.origin.name ?? admission.principal.origin.kind)
    : admission.status
}
const bearer = { authorization: 'Bearer good' }
const mine = { isSameUser: () => true }

test('3 Host: literals, localhost and listed names; a rebound name is none of these', () => {
  for (const host of [
    '127.0.0.1',
    '127.0.0.1:7',
    '[::1]:7',
    'localhost:7',
    'LOCALHOST.',
    'agents.example:1',
    'a.b.internal',
  ])
    assert.ok(isKnownHost(host, ['agents.example', '.internal']), host)
  for (const host of [
    '',
    'evil.example',
    'localhost.evil.example',
    'agents.example.evil.com',
    'xinternal',
    '127.0.0.1.nip.io',
  ])
    assert.ok(!isKnownHost(host, ['agents.example', '.internal']), host)
  assert.equal(status(asked({ ...bearer, host: 'evil.example' })), 403)
})

test('4 Origin: none, or a listed one; what a page sends without one is known by Sec-Fetch-Site', () => {
  assert.equal(status(asked({ ...bearer })), 'phone')
  assert.equal(status(asked({ ...bearer, origin: 'https://app.example' })), 'phone')
  for (const origin of ['https://evil.example', 'null', 'http://app.example', 'https://app.example.evil.com'])
    assert.equal(status(asked({ ...bearer, origin })), 403, origin)
  for (const site of ['cross-site', 'same-site', 'same-origin'])
    assert.equal(status(asked({ ...bearer, 'sec-fetch-site': site }, mine)), 403, site)
  assert.equal(status(asked({ ...bearer, 'sec-fetch-site': 'none' })), 'phone')
})

test('5 token: in the header or in the protocols of a WebSocket; everything else is 401 without detail', () => {
  assert.equal(status(asked({ 'sec-websocket-protocol': 'beige.v1, bearer.good' })), 'phone')
  for (const headers of [
    {},
    { authorization: 'Bearer bad' },
    { authorization: 'Basic good' },
    { authorization: '' },
    { 'sec-websocket-protocol': 'beige.v1' },
    { 'sec-websocket-protocol': 'beige.v1, bearer.bad' },
  ])
    assert.equal(status(asked(headers)), 401, JSON.stringify(headers))
})

test('5 the same user on loopback needs none, unless a proxy speaks for somebody or a token is required', () => {
  assert.equal(status(asked({}, mine)), 'local')
  assert.equal(status(asked({}, mine), { requireToken: true }), 401)
  for (const name of ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'])
    assert.equal(status(asked({ [name]: 'x' }, mine)), 401, name)
  assert.equal(status(asked({ authorization: 'Bearer bad' }, mine)), 401, 'a wrong token is not overlooked')
})

test('a Unix socket takes whoever its mode lets in, and no page', () => {
  const unix = { kind: 'unix' } as const
  assert.equal(status(asked({ host: 'anything' }, unix)), 'local')
  assert.equal(status(asked({ origin: 'https://app.example' }, unix)), 403)
})

test('ten wrong tokens from one address: 429 for a minute, for that address alone', async () => {
  const clock = manualClock()
  const one = guard({ clock })
  const wrong = (address: string) => one.admit(asked({ authorization: 'Bearer bad' }, { address }))
  for (let n = 0; n < 10; n++) assert.equal(statusOf(wrong('10.0.0.1')), 401)
  assert.equal(statusOf(wrong('10.0.0.1')), 429)
  assert.equal(statusOf(one.admit(asked(bearer, { address: '10.0.0.1' }))), 429)
  assert.equal(statusOf(wrong('10.0.0.2')), 401)
  clock.advance(60_001)
  assert.equal(statusOf(one.admit(asked(bearer, { address: '10.0.0.1' }))), 200)
})

const statusOf = (admission: ReturnType<ReturnType<typeof guard>['admit']>) =>
  admission.ok ? 200 : admission.status

test('H104 the token file is made for its owner alone, read again, and refused where others may read it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'beige-tokens-'))
  try {
    const path = join(folder, 'serve-tokens')
    const file = openTokens(path, systemRandom, () => {})
    assert.equal(statSync(path).mode & 0o777, 0o600)
    writeFileSync(path, '# mine\nabc view the phone\n\ndef\n')
    assert.equal(file.refresh(), true, 'the token that was made is gone')
    assert.deepEqual(
      [file.find('abc'), file.find('def'), file.find('')].map(one => one && [one.role, one.name]),
      [['view', 'the phone'], ['drive', null], null],
    )
    const digest = file.find('abc')?.digest ?? ''
    writeFileSync(path, 'def\n')
    assert.equal(file.refresh(), true)
    assert.equal(file.has(digest), false)
    assert.equal(file.refresh(), false)
    writeFileSync(path, 'abc owner\n')
    const warnings: string[] = []
    assert.throws(
      () => openTokens(path, systemRandom, text => warnings.push(text)),
      /line 1: owner is neither/,
    )
    const open = join(folder, 'open')
    writeFileSync(open, 'abc\n', { mode: 0o644 })
    assert.throws(() => openTokens(open, systemRandom, () => {}), /others may read it/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
