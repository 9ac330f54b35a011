import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, systemClock } from '@beige/protocol'
import { CANCEL_GRACE_MS } from './plugin-calls.ts'
import { openPluginPipe, type PluginPipe } from './plugin-pipe.ts'
import { supervisePlugin } from './plugin-supervisor.ts'
import {
  collected,
  never,
  request,
  testWorld,
  until,
  withPlugin,
  writePlugin,
} from './plugin-world.fixture.ts'

test('a handler that throws fails its call, with its message on stderr; others go on', async () => {
  const code = `reg.tool({ name: 't', description: 'x', async handler(args) {
    if (args[0] === 'throw') throw new Error('no such thing')
    return { exitCode: 0, output: 'fine' } } })`
  await withPlugin(code, async pipe => {
    const [bad, good] = [collected(), collected()]
    const [failed, fine] = await Promise.all([
      pipe.run(request('t', ['throw']), bad, never),
      pipe.run(request('t'), good, never),
    ])
    assert.equal(failed.exitCode, 1)
    assert.equal(bad.err().toString(), 'no such thing\n')
    assert.equal(fine.exitCode, 0)
    assert.equal(good.out().toString(), 'fine')
  })
})

test('a process that dies fails its calls and is started again', async () => {
  const world = testWorld()
  const code = `reg.tool({ name: 't', description: 'x', async handler(args) {
    if (args[0] === 'die') process.exit(3)
    return { exitCode: 0, output: String(process.pid) } } })`
  const supervisor = supervisePlugin(writePlugin(world, 't', ['t'], code), world)
  await supervisor.load()
  await supervisor.start()
  try {
    const before = collected()
    await supervisor.run(request('t'), before, never)
    await assert.rejects(supervisor.run(request('t', ['die']), collected(), never), {
      code: 'plugin_failed',
      message: 'plugin "t" ended with exit code 3',
    })
    await until(() => supervisor.state().state === 'failed')
    await assert.rejects(supervisor.run(request('t'), collected(), never), { code: 'plugin_failed' })
    await until(() => supervisor.state().state === 'ready')
    const after = collected()
    await supervisor.run(request('t'), after, never)
    assert.notEqual(after.out().toString(), before.out().toString())
  } finally {
    await supervisor.stop(1000)
  }
})

test('a cancelled call ends when its handler has ended', async () => {
  const code = `reg.tool({ name: 't', description: 'x', async handler(args, call) {
    await call.stdout.write('begun')
    await new Promise(resolve => call.signal.addEventListener('abort', resolve))
    call.log('cleaned up')
    return { exitCode: 0 } } })`
  await withPlugin(code, async (pipe, world) => {
    const stop = new AbortController()
    const streams = { ...collected(), stdout: async () => stop.abort(new Error('enough')) }
    await pipe.run(request('t'), streams, stop.signal)
    await until(() => world.lines.some(line => line.includes('cleaned up')))
  })
})

test('a handler that goes on after a cancel is ended with its process', async () => {
  const code = `reg.tool({ name: 't', description: 'x', async handler(args, call) {
    await call.stdout.write('begun')
    await new Promise(() => setInterval(() => {}, 1000)) } })`
  // The grace passes at once, everything else in its own time.
  const impatient: Clock = {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(ms === CANCEL_GRACE_MS ? 1 : ms, signal),
  }
  const goesOn = async (pipe: PluginPipe) => {
    const stop = new AbortController()
    const streams = { ...collected(), stdout: async () => stop.abort(new Error('enough')) }
    await assert.rejects(pipe.run(request('t'), streams, stop.signal), /went on for 5000 ms/)
  }
  await withPlugin(code, goesOn, impatient)
})

test('64 MiB go in and come out with a window of memory held', { timeout: 60_000 }, async () => {
  const code = `reg.tool({ name: 't', description: 'x', async handler(args, call) {
    for await (const bytes of call.stdin) await call.stdout.write(bytes)
    return { exitCode: 0 } } })`
  await withPlugin(code, async pipe => {
    const chunk = new Uint8Array(65_536).fill(7)
    const chunks = 1024
    let given = 0
    let taken = 0
    let mostOnTheWay = 0
    const end = await pipe.run(
      request('t'),
      {
        stdin: (async function* () {
          for (let n = 0; n < chunks; n++) {
            given += chunk.length
            mostOnTheWay = Math.max(mostOnTheWay, given - taken)
            yield chunk
          }
        })(),
        stdout: async bytes => {
          taken += bytes.length
        },
        stderr: async () => undefined,
      },
      never,
    )
    assert.equal(taken, chunks * chunk.length)
    assert.equal(end.outputBytes, taken)
    assert.ok(mostOnTheWay < 2_000_000, `${mostOnTheWay} bytes were on the way`)
  })
})

test('the kv plugin keeps values in its own process: twenty calls at once, and after a restart', async () => {
  const world = testWorld()
  const folder = join(import.meta.dirname, '../../../../plugins/kv')
  const manifest = JSON.parse(readFileSync(join(folder, 'plugin.json'), 'utf8'))
  const plugin = { name: 'kv', folder, manifest, config: manifest.defaultConfig, required: false }
  const call = async (pipe: PluginPipe, ...args: string[]) => {
    const streams = collected()
    const { exitCode } = await pipe.run({ ...request('kv', args), config: plugin.config }, streams, never)
    return { exitCode, out: streams.out().toString(), err: streams.err().toString() }
  }
  const first = await openPluginPipe(plugin, world)
  const sets = await Promise.all(
    Array.from({ length: 20 }, (_, n) => call(first, 'set', `k${n}`, `value ${n}`)),
  )
  assert.deepEqual(new Set(sets.map(set => `${set.exitCode}${set.err}`)), new Set(['0']))
  await first.stop(1000)
  const second = await openPluginPipe(plugin, world)
  assert.deepEqual(await call(second, 'get', 'k7'), { exitCode: 0, out: 'value 7\n', err: '' })
  assert.equal((await call(second, 'list')).out.split('\n').length, 21)
  await second.stop(1000)
})

test('bytes that are no frames end the process', async () => {
  const code = `reg.tool({ name: 't', description: 'x', async handler() {
    const { Socket } = await import('node:net')
    const fs = await import('node:fs')
    fs.writeSync(3, Buffer.from([255, 255, 255, 255, 19, 0, 0]))
    await new Promise(() => setInterval(() => {}, 1000)) } })`
  await withPlugin(code, async pipe => {
    await assert.rejects(pipe.run(request('t'), collected(), never), { code: 'plugin_failed' })
    assert.match(await pipe.gone, /has 4294967295 bytes/)
  })
})
