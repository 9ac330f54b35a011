import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { testHome } from './home.ts'

test('bad configuration: every error in one go, exit code 2, nothing started', async () => {
  const home = testHome({
    gatway: {},
    agents: { scout: { model: {}, tools: ['gti'], sandbox: { netwrok: 'none' } } },
  })
  for (const command of [
    ['gateway', 'start'],
    ['gateway', 'start', '-F'],
    ['config', 'check'],
  ]) {
    const ran = await home.beige(...command)
    assert.equal(ran.code, 2, command.join(' '))
    assert.match(
      ran.err,
      /config\.json5:\d+:\d+ +agents\.scout\.sandbox\.netwrok +unknown key \(did you mean "network"\?\)/,
    )
    assert.match(ran.err, /agents\.scout\.model\.provider +missing/)
    assert.match(ran.err, /agents\.scout\.tools\[0\] +no plugin offers "gti"/)
    assert.match(ran.err, /gatway +unknown key \(did you mean "gateway"\?\)/)
    assert.match(ran.err, /5 errors, nothing was (started|changed)\.\n$/)
    assert.equal(ran.out, '')
  }
  assert.equal((await home.beige('gateway', 'status')).code, 3)
  assert.equal(existsSync(home.layout.audit), false)
})

test('start, status, a second start, stop', async () => {
  const home = testHome()
  assert.deepEqual(await home.beige('gateway', 'stop'), { code: 0, out: 'not running\n', err: '' })
  const started = await home.beige('gateway', 'start')
  assert.equal(started.code, 0, started.err)
  assert.match(started.out, /gateway ready: 127\.0\.0\.1:\d+, 1 agent, not available: scout, pid \d+\n$/)
  try {
    const status = await home.beige('gateway', 'status')
    assert.equal(status.code, 0)
    assert.match(status.out, /^ready {2}127\.0\.0\.1:\d+/)
    assert.match(status.out, /✗ agent scout {2}unavailable/)
    assert.match(status.out, /✓ plugin kv {2}ready/)
    for (const args of [
      ['gateway', 'start'],
      ['gateway', 'start', '-F'],
    ]) {
      const second = await home.beige(...args)
      assert.equal(second.code, 0)
      assert.match(second.out, /already running \(pid \d+, version /)
    }
    for (const [path, mode] of [
      [home.layout.controlSocket, 0o600],
      [home.layout.run, 0o700],
      [home.layout.audit, 0o600],
      [home.layout.log, 0o600],
      [home.layout.sessionsMap, 0o600],
    ] as const)
      if (existsSync(path)) assert.equal(statSync(path).mode & 0o777, mode, path)
  } finally {
    assert.deepEqual(await home.beige('gateway', 'stop'), { code: 0, out: 'stopped\n', err: '' })
  }
  assert.equal((await home.beige('gateway', 'status')).code, 3)
  const verified = await home.beige('audit', 'verify')
  assert.match(verified.out, /^chain ok: 3 lines/)
  assert.match(readFileSync(home.layout.log, 'utf8'), / info {2}stopped\n$/)
})

test('kill -9, then start: the lock is free, the chain holds, the sockets are new', async () => {
  const home = testHome()
  await home.beige('gateway', 'start')
  const status = JSON.parse((await home.beige('gateway', 'status', '--json')).out)
  process.kill(status.pid, 'SIGKILL')
  const again = await home.beige('gateway', 'start')
  assert.equal(again.code, 0, again.err)
  const second = JSON.parse((await home.beige('gateway', 'status', '--json')).out)
  assert.notEqual(second.pid, status.pid)
  await home.beige('gateway', 'stop')
  const verified = await home.beige('audit', 'verify', '--json')
  assert.equal(verified.code, 0)
  assert.equal(JSON.parse(verified.out).lines, 4)
})

test('SIGTERM stops a gateway in front, in order', async () => {
  const home = testHome()
  const child = home.spawn('gateway', 'start', '-F')
  for await (const chunk of child.stdout ?? []) if (String(chunk).includes('gateway ready')) break
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
  assert.equal(existsSync(home.layout.controlSocket), false)
})

test('H104-wide-modes-stop-the-start', async () => {
  const home = testHome()
  chmodSync(home.layout.config, 0o644)
  const file = await home.beige('gateway', 'start')
  assert.equal(file.code, 2)
  assert.match(file.err, /has mode 0644, others may read it/)
  chmodSync(home.layout.config, 0o600)
  chmodSync(home.layout.home, 0o755)
  const folder = await home.beige('gateway', 'start')
  assert.equal(folder.code, 2)
  assert.match(folder.err, /has mode 0755/)
})

test('a broken audit chain stops the start and says where', async () => {
  const home = testHome()
  await home.beige('gateway', 'start')
  await home.beige('gateway', 'stop')
  writeFileSync(
    home.layout.audit,
    readFileSync(home.layout.audit, 'utf8').replace('gateway.start', 'gateway.stArt'),
  )
  const start = await home.beige('gateway', 'start')
  assert.equal(start.code, 1)
  assert.match(start.err, /the audit chain is broken: .*audit\.jsonl at byte/)
  const verified = await home.beige('audit', 'verify')
  assert.equal(verified.code, 1)
  assert.match(verified.err, /audit\.jsonl at byte \d+/)
})

test('usage errors are exit code 2, help is 0', async () => {
  const home = testHome()
  assert.equal((await home.beige()).code, 0)
  assert.equal((await home.beige('gateway', 'start', '--help')).code, 0)
  assert.equal((await home.beige('frobnicate')).code, 2)
  assert.equal((await home.beige('gateway', 'start', '--frob')).code, 2)
  assert.equal((await home.beige('prompt', 'scout')).code, 2)
  assert.equal((await home.beige('prompt', 'scout', 'hi')).code, 3)
  assert.equal((await home.beige('token', 'create', '--name', 'x', '--scopes', 'all')).code, 2)
})
