import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDriver } from '@beige/sandbox'
import { execdMissing, startModelServer } from '@beige/test-support'
import { agentSection, type TestHome, testHome } from './home.ts'

const driver = 'bubblewrap'
const missing =
  execdMissing() || (await openDriver({ kind: driver }).unavailable(AbortSignal.timeout(10_000)))?.reason
const skip = missing ?? false

const COUNT_SLEEPERS = 'cat /proc/[0-9]*/comm 2>/dev/null | grep -c "^sleep$"'

function home(url: string): TestHome {
  const provider = {
    auth: 'none',
    baseUrl: url,
    api: 'anthropic-messages',
    models: [{ id: 'demo', contextWindow: 200_000, maxTokens: 8192 }],
  }
  return testHome({
    llm: { providers: { scripted: provider } },
    agents: { scout: agentSection({ driver }) },
    gateway: { port: 0, drainMs: 100 },
  })
}
const exec = (command: string) => ({ calls: [{ name: 'exec', input: { command } }] })

/** Starts a prompt and resolves when its command runs. */
async function promptUntilTool(place: TestHome): Promise<ReturnType<TestHome['spawn']>> {
  const child = place.spawn('prompt', 'scout', 'sleep', '--json')
  if (!child.stdout) throw new DOMException('no stdout', 'InvalidStateError')
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('"tool_start"')) break
  child.stdout.resume()
  return child
}

test('Ctrl-C of a prompt leaves no process in the sandbox, and the session goes on', {
  skip,
  timeout: 120_000,
}, async () => {
  const results: string[] = []
  await using server = await startModelServer({
    script: request => {
      const last = request.messages.at(-1)
      if (last?.text.includes('how many')) return exec(COUNT_SLEEPERS)
      const result = last?.results.at(-1)
      if (result) {
        results.push(result.text)
        return { text: 'seen' }
      }
      return exec('setsid sleep 1000 & sleep 1000')
    },
  })
  const place = home(server.url)
  await place.beige('gateway', 'start')
  try {
    const child = await promptUntilTool(place)
    const exit = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)))
    child.kill('SIGINT')
    assert.equal(await exit, 130)
    const after = await place.beige('prompt', 'scout', 'how many sleep?')
    assert.equal(after.code, 0, after.err)
    assert.match(results.at(-1) ?? '', /^0/)
    assert.deepEqual(server.refusals, [])
  } finally {
    await place.beige('gateway', 'stop')
  }
})

test('kill -9 in the middle of a turn, then start: the run goes on and its history is valid', {
  skip,
  timeout: 120_000,
}, async () => {
  const seen: string[] = []
  const resumed = Promise.withResolvers<void>()
  await using server = await startModelServer({
    script: request => {
      const last = request.messages.at(-1)
      const result = last?.results.at(-1)
      if (result) {
        seen.push(result.text)
        resumed.resolve()
        return { text: 'I am back.' }
      }
      if (last?.text.includes('still there')) return { text: 'Yes.' }
      return exec('echo begun; sleep 3; echo ended')
    },
  })
  const place = home(server.url)
  await place.beige('gateway', 'start')
  await promptUntilTool(place)
  process.kill(JSON.parse((await place.beige('gateway', 'status', '--json')).out).pid, 'SIGKILL')
  const again = await place.beige('gateway', 'start')
  assert.equal(again.code, 0, again.err)
  try {
    await resumed.promise
    let after = await place.beige('prompt', 'scout', 'still there?')
    // The taken-over run may need a moment more to end.
    for (let tries = 0; after.code !== 0 && /in flight/.test(after.err) && tries < 50; tries++)
      after = await place.beige('prompt', 'scout', 'still there?')
    assert.deepEqual(after, { code: 0, out: 'Yes.\n', err: '' })
    assert.equal(seen.length, 1)
    assert.deepEqual(server.refusals, [])
    assert.equal((await place.beige('audit', 'verify')).code, 0)
    const records = readFileSync(place.layout.audit, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
    const second = records.findLastIndex(record => record.event === 'gateway.start')
    const told = records.slice(0, second).filter(record => record.phase === 'end' && record.type !== 'llm')
    assert.deepEqual(
      told.map(record => [record.tool, record.outcome]),
      [['exec', 'unknown']],
    )
  } finally {
    await place.beige('gateway', 'stop')
  }
})

test('a stop whose drain runs out parks the run: its command goes on, and the next start ends the turn once', {
  skip,
  timeout: 120_000,
}, async () => {
  const seen: string[] = []
  const ended = Promise.withResolvers<void>()
  await using server = await startModelServer({
    script: request => {
      const result = request.messages.at(-1)?.results.at(-1)
      if (result === undefined) return exec('echo begun; sleep 4; echo ended')
      seen.push(result.text)
      ended.resolve()
      return { text: 'I am back.' }
    },
  })
  const place = home(server.url)
  await place.beige('gateway', 'start')
  const child = await promptUntilTool(place)
  const stopped = await place.beige('gateway', 'stop')
  assert.deepEqual([stopped.code, stopped.err], [0, ''])
  child.kill('SIGKILL')
  assert.equal(statSync(place.layout.lock).mode & 0o777, 0o600)
  const log = readFileSync(place.layout.log, 'utf8')
  assert.match(log, /1 runs did not end in time; they go on at the next start/)
  assert.equal((await place.beige('gateway', 'start')).code, 0)
  try {
    await ended.promise
    assert.equal(seen.length, 1)
    assert.match(seen[0] ?? '', /begun[\s\S]*ended/, 'the command was not begun again, nor cut off')
    assert.deepEqual(server.refusals, [])
    assert.equal((await place.beige('audit', 'verify')).code, 0)
  } finally {
    await place.beige('gateway', 'stop')
  }
})

test('restart: by command and by SIGHUP, with the configuration of now; a bad one changes nothing', {
  timeout: 120_000,
}, async () => {
  const place = testHome()
  const status = async () =>
    JSON.parse((await place.beige('-c', place.layout.config, 'gateway', 'status', '--json')).out)
  const write = (text: string) => writeFileSync(place.layout.config, text)
  const good = readFileSync(place.layout.config, 'utf8')
  const nobody = await place.beige('gateway', 'restart')
  assert.equal(nobody.code, 0, 'starts it where none runs')
  try {
    const first = await status()
    write(good.replaceAll('"scout"', '"ranger"'))
    const restarted = await place.beige('gateway', 'restart')
    assert.deepEqual([restarted.code, restarted.err], [0, ''])
    const second = await status()
    assert.deepEqual([second.pid, second.agents[0].name], [first.pid, 'ranger'])

    write(good.replace('"agents"', '"agentz"'))
    const refused = await place.beige('gateway', 'restart')
    assert.equal(refused.code, 2)
    assert.match(refused.err, /agentz +unknown key \(did you mean "agents"\?\)/)
    process.kill(first.pid, 'SIGHUP')
    const deadline = Date.now() + 20_000
    while (!readFileSync(place.layout.log, 'utf8').includes('restart refused') && Date.now() < deadline)
      await pause(50)
    assert.equal((await status()).agents[0].name, 'ranger')

    write(good)
    await pause(400) // two presses of a key are one
    process.kill(first.pid, 'SIGHUP')
    while ((await status()).agents?.[0]?.name !== 'scout' && Date.now() < deadline) await pause(100)
    assert.equal((await status()).agents[0].name, 'scout')
    assert.equal((await place.beige('audit', 'verify')).code, 0)
  } finally {
    await place.beige('gateway', 'stop')
  }
})
