import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, systemClock } from '@beige/protocol'
import { CANCEL_GRACE_MS, type PluginRequest } from './plugin-calls.ts'
import { openPluginPipe, type PluginPipe } from './plugin-pipe.ts'
import { supervisePlugin } from './plugin-supervisor.ts'
import { collected, type TestWorld, testWorld, writePlugin } from './plugin-world.fixture.ts'

const never = new AbortController().signal
const request = (tool: string, argv: readonly (string | Uint8Array)[] = []): PluginRequest => ({
  tool,
  argv: argv.map(arg => (typeof arg === 'string' ? Buffer.from(arg) : arg)),
  cwd: null,
  agent: 'scout',
  session: null,
  config: { mine: true },
})

async function withPlugin(
  code: string,
  run: (pipe: PluginPipe, world: TestWorld) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  const world = { ...testWorld(), clock }
  const pipe = await openPluginPipe(writePlugin(world, 't', ['t'], code), world)
  try {
    await pipe.start()
    await run(pipe, world)
  } finally {
    await pipe.stop(1000)
  }
}

const ECHO = `reg.tool({ name: 't', description: 'x', async handler(args, call) {
  await call.stdout.write(JSON.stringify(call.argv.map(arg => Buffer.from(arg).toString('hex'))))
  for await (const bytes of call.stdin) await call.stderr.write(bytes)
  return { exitCode: 7, output: '.', data: { agent: call.agent, config: call.config } }
} })`

test('argv of any bytes, stdin, both streams, exit code and data pass through', async () => {
  const argv = ['', ' a  b ', 'q"\'`$(x)\n\t', new Uint8Array([0xff, 0xfe, 0x00, 0x80]), '🦊']
  await withPlugin(ECHO, async pipe => {
    const streams = collected([Buffer.from('in'), new Uint8Array([0, 255])])
    const end = await pipe.run(request('t', argv), streams, never)
    const hex = argv.map(arg => Buffer.from(arg).toString('hex'))
    assert.equal(streams.out().toString(), `${JSON.stringify(hex)}.`)
    assert.deepEqual(streams.err(), Buffer.from([105, 110, 0, 255]))
    assert.equal(end.exitCode, 7)
    assert.deepEqual(end.data, { agent: 'scout', config: { mine: true } })
  })
})

test('H91-a-plugin-sees-its-own-section-alone: empty environment, no files of the host, no programs', async () => {
  const code = `reg.tool({ name: 't', description: 'x', async handler(args) {
    const fs = await import('node:fs'), cp = await import('node:child_process')
    const tries = {
      env: () => Object.keys(process.env),
      read: () => fs.readFileSync(args[0], 'utf8'),
      list: () => fs.readdirSync('/'),
      write: () => fs.writeFileSync(args[0], 'x'),
      spawn: () => cp.spawnSync('id').error?.code ?? 'ran',
      sqlite: () => process.getBuiltinModule('node:sqlite') === undefined ? 'none' : 'there',
      own: () => { fs.writeFileSync(context.dataDir + '/x', 'kept'); return fs.readFileSync(context.dataDir + '/x', 'utf8') },
    }
    const told = {}
    for (const [name, run] of Object.entries(tries)) try { told[name] = run() } catch (error) { told[name] = error.code }
    return { exitCode: 0, output: JSON.stringify(told) }
  } })`
  await withPlugin(code, async (pipe, world) => {
    const secret = join(world.root, 'config.json5')
    writeFileSync(secret, 'key')
    const streams = collected()
    await pipe.run(request('t', [secret]), streams, never)
    const denied = 'ERR_ACCESS_DENIED'
    assert.deepEqual(JSON.parse(streams.out().toString()), {
      env: [],
      read: denied,
      list: denied,
      write: denied,
      spawn: denied,
      sqlite: 'none',
      own: 'kept',
    })
  })
})

test('H90-the-base-configuration-is-not-read-in-a-handler', async () => {
  const code = `const early = config.base
    reg.tool({ name: 't', description: 'x', handler: async () => ({ exitCode: early ? 0 : 1, output: String(config.base) }) })`
  await withPlugin(code, async pipe => {
    const streams = collected()
    const end = await pipe.run(request('t'), streams, never)
    assert.equal(end.exitCode, 1)
    assert.match(streams.err().toString(), /use call.config/)
  })
})

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

test('H97-offers-and-manifest-agree: a tool too many or too few is refused', async () => {
  const world = testWorld()
  const one = `reg.tool({ name: 'a', description: 'x', handler: async () => ({ exitCode: 0 }) })`
  await assert.rejects(
    openPluginPipe(writePlugin(world, 'a', ['a', 'a.b'], one), world),
    /did not register the tool "a.b"/,
  )
  await assert.rejects(openPluginPipe(writePlugin(world, 'b', [], one), world), /does not list/)
  await assert.rejects(
    openPluginPipe(writePlugin(world, 'c', ['a'], `${one};${one}`), world),
    /registers "a" twice/,
  )
  await assert.rejects(
    openPluginPipe(writePlugin(world, 'd', ['a'], 'throw new Error("broken")'), world),
    /broken/,
  )
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

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!holds()) {
    assert.ok(performance.now() < deadline, 'did not come true within 10 s')
    await new Promise(resolve => setImmediate(resolve))
  }
}
