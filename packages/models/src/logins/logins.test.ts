/** Logins against the vendors' own endpoints as test-support plays them: PKCE, device codes, refresh, withdrawal. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, systemClock } from '@beige/protocol'
import { type OauthServer, startModelServer, startOauthServer } from '@beige/test-support'
import { ask, ONCE, system, textOf, user } from '../../test/wires.ts'
import {
  createModelRouter,
  type Interaction,
  LOGIN_PROVIDERS,
  type LoginProvider,
  loginsIn,
} from '../index.ts'

type Home = AsyncDisposable & { directory: string; path: string }
async function home(): Promise<Home> {
  const directory = await mkdtemp(join(tmpdir(), 'beige-logins-'))
  const dispose = () => rm(directory, { recursive: true })
  return { directory, path: join(directory, 'auth.json'), [Symbol.asyncDispose]: dispose }
}

/** The person at the keyboard and in the browser, who says yes to everything. */
function person(vendor: OauthServer, method: string): Interaction {
  let pasted: string | null = null
  const waits = Promise.withResolvers<string>()
  return {
    signal: AbortSignal.timeout(10_000),
    prompt: async prompt => {
      if (prompt.type === 'select') return method
      if (prompt.type === 'text') return ''
      return pasted ?? waits.promise
    },
    notify(event) {
      if (event.type === 'device_code') vendor.approve(event.userCode)
      if (event.type === 'auth_url')
        void vendor.visit(event.url).then(({ redirectUrl, status }) => {
          if (status === 200) return
          // Another program has the callback's port: the address is pasted instead.
          pasted = redirectUrl
          waits.resolve(redirectUrl)
        })
    },
  }
}

async function loggedIn(provider: LoginProvider, vendor: OauthServer, at: Home, clock: Clock = systemClock) {
  const logins = loginsIn({ directory: at.directory, clock, fetch: vendor.fetch, warn: () => {} })
  await logins.login(provider, person(vendor, 'browser'))
  return logins
}

for (const [provider, method] of [
  ['anthropic', 'browser'],
  ['openai-codex', 'browser'],
  ['openai-codex', 'device_code'],
  ['github-copilot', ''],
] as const)
  test(`${provider} ${method}: logs in, is kept private, gives a token, logs out`, async () => {
    await using vendor = await startOauthServer()
    await using at = await home()
    const logins = loginsIn({
      directory: at.directory,
      clock: systemClock,
      fetch: vendor.fetch,
      warn: () => {},
    })
    assert.equal(await logins.status(provider), 'logged_out')
    await logins.login(provider, person(vendor, method))
    assert.equal(await logins.status(provider), 'logged_in')
    assert.equal((await stat(at.path)).mode & 0o777, 0o600)
    const [usable] = await logins.usable()
    const opened = await usable?.credential.open(undefined)
    assert.ok(vendor.isValid(opened?.key ?? ''))
    if (provider === 'github-copilot') {
      assert.equal(opened?.baseUrl, 'https://api.individual.githubcopilot.com')
      assert.deepEqual(usable?.serves, ['claude-sonnet-4.6', 'gpt-5.6-sol'])
    }
    assert.equal(await logins.logout(provider), true)
    assert.equal(await logins.logout(provider), false)
    assert.equal(await logins.status(provider), 'logged_out')
    assert.deepEqual(await logins.usable(), [])
  })

test('a token that has ended is refreshed once, however many ask at once and in however many stores', async () => {
  await using vendor = await startOauthServer({ expiresInSeconds: 1 })
  await using at = await home()
  await loggedIn('anthropic', vendor, at)
  const before = vendor.calls.length
  vendor.delayMs = 30
  const later: Clock = { ...systemClock, now: () => systemClock.now() - 600_000 }
  // The vendor's tokens of a second are over for the first clock; what the refresh gives is good for the second.
  const stores = [later, later, later].map(clock =>
    loginsIn({ directory: at.directory, clock, fetch: vendor.fetch, warn: () => {} }),
  )
  await expire(at.path)
  const usable = (await Promise.all(stores.map(store => store.usable()))).flat()
  const opened = await Promise.all([...usable, ...usable].map(({ credential }) => credential.open(undefined)))
  assert.equal(vendor.calls.length - before, 1)
  assert.equal(new Set(opened.map(({ key }) => key)).size, 1)
  assert.ok(vendor.isValid(opened[0]?.key ?? ''))
})

/** The naive form, which H09 is about: each copy refreshes with the token that it read, and one of them is refused. */
test('without the lock the second refresh is refused by the vendor', async () => {
  await using vendor = await startOauthServer()
  await using at = await home()
  await loggedIn('anthropic', vendor, at)
  const { anthropic } = JSON.parse(await readFile(at.path, 'utf8'))
  const refresh = () =>
    vendor.fetch('https://platform.claude.com/v1/oauth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: anthropic.refresh }),
    })
  const answers = await Promise.all([refresh(), refresh()])
  assert.deepEqual(answers.map(answer => answer.status).sort(), [200, 400])
})

test('a permission that was taken back needs a new login, and no request asks for it again', async () => {
  await using vendor = await startOauthServer()
  await using at = await home()
  const logins = await loggedIn('anthropic', vendor, at)
  await expire(at.path)
  const [usable] = await logins.usable()
  vendor.revoke()
  await assert.rejects(async () => usable?.credential.open(undefined), { code: 'needs_login' })
  assert.equal(await logins.status('anthropic'), 'needs_reauth')
  assert.deepEqual(await logins.usable(), [])
})

test('a vendor that can not be reached takes no login away', async () => {
  await using at = await home()
  await using vendor = await startOauthServer()
  await loggedIn('anthropic', vendor, at)
  await expire(at.path)
  const down = loginsIn({
    directory: at.directory,
    clock: systemClock,
    fetch: () => Promise.reject(new TypeError('fetch failed')),
    warn: () => {},
  })
  const [usable] = await down.usable()
  await assert.rejects(async () => usable?.credential.open(undefined))
  assert.equal(await down.status('anthropic'), 'logged_in')
})

test('a damaged file is not taken for an empty one', async () => {
  for (const damage of ['', '{"anthropic": {', '[]']) {
    await using at = await home()
    await using vendor = await startOauthServer()
    await writeFile(at.path, damage)
    const logins = loginsIn({
      directory: at.directory,
      clock: systemClock,
      fetch: vendor.fetch,
      warn: () => {},
    })
    await assert.rejects(logins.status('anthropic'), { code: 'bad_auth_file' })
    await assert.rejects(logins.logout('anthropic'), { code: 'bad_auth_file' })
    await assert.rejects(logins.login('anthropic', person(vendor, 'browser')), { code: 'bad_auth_file' })
    assert.equal(await readFile(at.path, 'utf8'), damage)
  }
})

test('entries of other programs stay, and a file that others could read is closed', async () => {
  await using vendor = await startOauthServer()
  await using at = await home()
  await writeFile(at.path, '{"groq":{"type":"api_key","key":"theirs"}}', { mode: 0o644 })
  const warnings: string[] = []
  const logins = loginsIn({
    directory: at.directory,
    clock: systemClock,
    fetch: vendor.fetch,
    warn: text => warnings.push(text),
  })
  await logins.login('anthropic', person(vendor, 'browser'))
  assert.match(warnings.join(), /could be read by others \(644\)/)
  assert.deepEqual(Object.keys(JSON.parse(await readFile(at.path, 'utf8'))), ['groq', 'anthropic'])
})

test('a request goes out with the login, and one that the vendor refuses is made again with a fresh token', async () => {
  await using vendor = await startOauthServer()
  await using at = await home()
  const logins = await loggedIn('anthropic', vendor, at)
  await using server = await startModelServer({ script: [{ text: 'by plan' }] })
  const keys: string[] = []
  const router = await createModelRouter({
    env: { ANTHROPIC_API_KEY: 'not-this-one' },
    clock: systemClock,
    fallback: ONCE,
    logins: await logins.usable(),
    takesUnknownIds: true,
    fetch: async (input, init) => {
      const key = new Headers(init?.headers).get('authorization') ?? ''
      keys.push(key.replace('Bearer ', ''))
      if (keys.length === 1)
        return Response.json({ error: { type: 'authentication_error' } }, { status: 401 })
      const url = new URL(input instanceof Request ? input.url : input)
      assert.equal(url.host, 'api.anthropic.com')
      return fetch(`${server.url}${url.pathname}`, init)
    },
  })
  const model = router.resolve('claude-opus-4-8')
  const answer = await ask({ router, model }, [system, user('hi')])
  assert.equal(textOf(answer.message), 'by plan')
  assert.equal(new Set(keys).size, 2)
  assert.ok(keys.every(key => vendor.isValid(key)))
  const said = JSON.stringify(answer)
  assert.ok(keys.every(key => !said.includes(key)))
})

test('every provider that has a login row has a flow', () => {
  assert.deepEqual([...LOGIN_PROVIDERS].sort(), ['anthropic', 'github-copilot', 'openai-codex'])
})

async function expire(path: string): Promise<void> {
  const entries = JSON.parse(await readFile(path, 'utf8'))
  for (const entry of Object.values<{ expires: number }>(entries)) entry.expires = 1
  await writeFile(path, JSON.stringify(entries))
}
