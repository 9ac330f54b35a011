/** `agent login`, `auth-status` and `logout` as their user meets them, against the vendors as test-support plays them. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { startOauthServer } from '@beige/test-support'
import type { ProcessWorld } from '../process-world.ts'
import { authStatusCommand, loginCommand, logoutCommand } from './login.ts'

/** `onText` is called with what was said on stderr so far. */
async function desk(onText: (text: string, stdin: PassThrough) => void) {
  const folder = await mkdtemp(join(tmpdir(), 'beige-login-'))
  const stdin = new PassThrough()
  let [out, err] = ['', '']
  const sink = (take: (text: string) => void) =>
    new Writable({
      write(chunk, _encoding, done) {
        take(String(chunk))
        done()
      },
    })
  const world: ProcessWorld = {
    env: { BEIGE_HOME: folder },
    cwd: folder,
    stdin,
    stdout: sink(text => {
      out += text
    }),
    stderr: sink(text => {
      err += text
      onText(err, stdin)
    }),
    clock: systemClock,
    random: systemRandom,
    onSignal: () => () => {},
    onOutputClosed: () => () => {},
    exit: () => assert.fail('exit'),
  }
  return {
    world,
    out: () => out,
    err: () => err,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

test('a device code is shown, and the login is kept until logout', async () => {
  await using vendor = await startOauthServer()
  await using at = await desk(text => {
    const code = /enter the code (\S+)/.exec(text)?.[1]
    if (code !== undefined) vendor.approve(code)
  })
  assert.equal(await loginCommand('openai-codex', { device: true }, at.world, vendor.fetch), 0)
  assert.equal(await authStatusCommand('openai-codex', {}, at.world), 0)
  assert.equal(await logoutCommand('openai-codex', at.world), 0)
  assert.equal(await authStatusCommand(undefined, { json: true }, at.world), 0)
  assert.equal(
    at.out(),
    `logged in to openai-codex\nlogged_in\nlogged out of openai-codex\n${JSON.stringify({
      logins: ['anthropic', 'github-copilot', 'openai-codex'].map(provider => ({
        provider,
        state: 'logged_out',
      })),
    })}\n`,
  )
  assert.doesNotMatch(at.out() + at.err(), /access-|refresh-|sig$/)
})

test('the address that a browser elsewhere ended at can be pasted', async () => {
  await using vendor = await startOauthServer()
  let isOpen = false
  await using at = await desk((text, stdin) => {
    const url = /\n {2}(https:\S+)/.exec(text)?.[1]
    if (url === undefined || isOpen || !text.includes('paste')) return
    isOpen = true
    const elsewhere = new URL(url)
    elsewhere.searchParams.set('redirect_uri', 'http://127.0.0.1:9/callback') // nobody listens there
    void vendor.visit(elsewhere.href).then(({ redirectUrl }) => stdin.write(`${redirectUrl}\n`))
  })
  assert.equal(await loginCommand('anthropic', {}, at.world, vendor.fetch), 0)
  assert.equal(at.out(), 'logged in to anthropic\n')
})

test('a login that fails says why, without a stack; a name that is none and an open address are refused', async () => {
  await using at = await desk(() => {})
  const down = () => Promise.reject(new TypeError('fetch failed'))
  await assert.rejects(loginCommand('openai-codex', { device: true }, at.world, down), {
    code: 'login',
    message: /fetch failed/,
  })
  await assert.rejects(loginCommand('antropic', {}, at.world, down), /did you mean anthropic\?/)
  at.world.env.AI_AGENT_OAUTH_CALLBACK_HOST = '0.0.0.0'
  await assert.rejects(loginCommand('anthropic', {}, at.world, down), /AI_AGENT_OAUTH_CALLBACK_HOST/)
})
