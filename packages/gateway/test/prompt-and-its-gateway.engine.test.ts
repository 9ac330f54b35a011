/** What a person is told whose prompt has lost its gateway, or who meets a run that nobody looks at any more. */
import assert from 'node:assert/strict'
import type { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { openDriver } from '@beige/sandbox'
import { execdMissing, startModelServer } from '@beige/test-support'
import { agentSection, type TestHome, testHome } from './home.ts'

const driver = 'bubblewrap'
const skip =
  execdMissing() ||
  ((await openDriver({ kind: driver }).unavailable(AbortSignal.timeout(10_000)))?.reason ?? false)

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

/** A model that begins to speak and never ends. */
const silentModel = () =>
  startModelServer({ script: () => ({ text: 'well', fault: { kind: 'silence', afterEvents: 3 } }) })

/** Resolves when the run of this prompt has begun. */
async function begun(child: ReturnType<typeof spawn>): Promise<void> {
  assert.ok(child.stdout)
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('"agent_start"')) break
  child.stdout.resume()
}

test('a prompt whose gateway is killed says so, and how its session goes on', {
  skip,
  timeout: 120_000,
}, async () => {
  await using server = await silentModel()
  const place = home(server.url)
  await place.beige('gateway', 'start')
  const child = place.spawn('prompt', 'scout', 'hello', '--json')
  assert.ok(child.stderr)
  const said = text(child.stderr)
  const exit = once(child, 'exit')
  await begun(child)
  const info: unknown = JSON.parse(readFileSync(place.layout.info, 'utf8'))
  assert.ok(typeof info === 'object' && info !== null && 'pid' in info && typeof info.pid === 'number')
  process.kill(info.pid, 'SIGKILL')
  assert.equal((await exit)[0], 1)
  assert.match(
    await said,
    /^the gateway went away .* session api:scout:default goes on .* beige gateway start\n$/,
  )
})

test('who meets a run of somebody else is told how to stop it', {
  skip,
  timeout: 120_000,
}, async () => {
  await using server = await silentModel()
  const place = home(server.url)
  await place.beige('gateway', 'start')
  try {
    const child = place.spawn('prompt', 'scout', 'hello', '--json')
    const exit = once(child, 'exit')
    await begun(child)
    const busy = await place.beige('prompt', 'scout', 'and now?')
    assert.equal(busy.code, 1)
    assert.match(busy.err, /Stop it: beige sessions abort api:scout:default /)
    const stopped = await place.beige('sessions', 'abort', 'api:scout:default')
    assert.match(stopped.out, /^stopped e_\w+\n$/, stopped.err)
    await exit
    const again = await place.beige('sessions', 'abort', 'api:scout:default')
    assert.deepEqual(again, { code: 0, out: 'nothing was running\n', err: '' })
    const unknown = await place.beige('sessions', 'abort', 'api:scout:other')
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /^no session has the key api:scout:other\. /)
  } finally {
    await place.beige('gateway', 'stop')
  }
})

test('a prompt whose client was killed is ended: nobody could have its answer', {
  skip,
  timeout: 120_000,
}, async () => {
  await using server = await silentModel()
  const place = home(server.url)
  await place.beige('gateway', 'start')
  try {
    const child = place.spawn('prompt', 'scout', 'hello', '--json')
    const exit = once(child, 'exit')
    await begun(child)
    const asked = await server.request(1)
    child.kill('SIGKILL')
    await exit
    assert.equal(await asked.end, 'client_closed', 'the model is no longer asked')
  } finally {
    await place.beige('gateway', 'stop')
  }
})
