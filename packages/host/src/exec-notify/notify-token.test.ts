import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintNotifyToken, notifyKeyOf, openNotifyToken } from './notify-token.ts'

const KEY = new Uint8Array(32).fill(7)
const OTHER = new Uint8Array(32).fill(8)
const NOW_S = 1_900_000_000
const CLAIMS = { tenant: '', session_id: 's_1', scope: 's_1', exp: NOW_S + 1 }
const opened = (token: string, keys = [KEY], nowMs = NOW_S * 1000) => openNotifyToken(token, keys, nowMs)

test('what was minted opens, with the newest key and with the one before it', () => {
  const token = mintNotifyToken(KEY, CLAIMS)
  assert.deepEqual(opened(token), CLAIMS)
  assert.deepEqual(opened(token, [OTHER, KEY]), CLAIMS)
  assert.equal(opened(token, [OTHER]), null)
  assert.equal(opened(token, [KEY], CLAIMS.exp * 1000), null, 'exp is the first moment at which it is none')
})

test('no other token opens', () => {
  const token = mintNotifyToken(KEY, CLAIMS)
  const [version = '', payload = '', mac = ''] = token.split('.')
  const forged = Buffer.from(JSON.stringify({ ...CLAIMS, session_id: 's_2' })).toString('base64url')
  for (const wrong of [
    ...['', '.', '..', 'bjn_v1', token.slice(0, -1), `${token}A`, `${token}.x`, ` ${token}`],
    ...[
      `bjn_v2.${payload}.${mac}`,
      `${version}.${forged}.${mac}`,
      `${version}..${mac}`,
      `${version}.${payload}.`,
    ],
    `bjn_v1.${'A'.repeat(5000)}.${mac}`,
    mintNotifyToken(KEY, { ...CLAIMS, exp: 1.5 }),
  ])
    assert.equal(opened(wrong), null, wrong)
  for (let index = 0; index < token.length; index++) {
    const flipped = token[index] === 'A' ? 'B' : 'A'
    const changed = token.slice(0, index) + flipped + token.slice(index + 1)
    if (Buffer.from(changed.split('.')[2] ?? '', 'base64url').equals(Buffer.from(mac, 'base64url'))) {
      if (changed.startsWith(`${version}.${payload}.`)) continue // spare bits of its last character
    }
    assert.equal(opened(changed), null, `character ${index}`)
  }
})

test('the key of a fleet comes from its seal secret alone', () => {
  const key = notifyKeyOf(new Uint8Array(32).fill(0x11))
  assert.equal(key.length, 32)
  assert.deepEqual(notifyKeyOf(new Uint8Array(32).fill(0x11)), key)
  assert.notDeepEqual(notifyKeyOf(new Uint8Array(32).fill(0x12)), key)
})
