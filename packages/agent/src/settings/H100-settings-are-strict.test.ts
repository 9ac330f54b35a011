/** `settings.json` and `agent settings`: every field, its flag, its refusal, and where a value comes from. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { agentOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { program } from '../program.ts'
import { FIELDS } from './fields.ts'
import { mergedSettings, readSettings } from './settings.ts'

type Home = AsyncDisposable & {
  path: string
  env: Record<string, string | undefined>
  agent(...argv: string[]): Promise<{ code: number; out: string; err: string }>
}

async function home(content?: string): Promise<Home> {
  const folder = await mkdtemp(join(tmpdir(), 'beige-settings-'))
  const path = join(folder, 'settings.json')
  if (content !== undefined) await writeFile(path, content)
  const env: Record<string, string | undefined> = { BEIGE_HOME: folder }
  return {
    path,
    env,
    async agent(...argv) {
      const [out, err] = [collector(), collector()]
      const world: ProcessWorld = {
        env,
        cwd: folder,
        stdin: process.stdin,
        stdout: out.stream,
        stderr: err.stream,
        clock: systemClock,
        random: systemRandom,
        onSignal: () => () => {},
        onOutputClosed: () => () => {},
        exit: () => assert.fail('exit'),
      }
      const code = await program(argv, world)
      return { code, out: out.text(), err: err.text() }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

function collector() {
  const parts: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      parts.push(String(chunk))
      done()
    },
  })
  return { stream, text: () => parts.join('') }
}

/** A good and a bad value of each field, as a flag takes them. */
const GOOD: Readonly<Record<string, string>> = {
  text: 'x',
  url: 'https://g.example',
  flag: 'true',
  count: '7',
  list: 'a,b',
  budgets: 'high=9000',
}

test('every field can be set by its flag, is kept private, and is taken out by its --clear', async () => {
  await using at = await home()
  for (const { name, flag, kind } of FIELDS) {
    if (flag === null) continue
    const value = kind.is === 'choice' ? (kind.of[0] ?? '') : (GOOD[kind.is] ?? '')
    const { code, err } = await at.agent('settings', `--${flag}`, value)
    assert.equal(code, 0, `${flag}: ${err}`)
    assert.ok(name in readSettings(at.path), flag)
  }
  const shown = JSON.parse((await at.agent('settings', '--json')).out)
  const from = new Map<string, string>(
    shown.settings.map((row: { name: string; source: string }) => [row.name, row.source]),
  )
  for (const { name, flag } of FIELDS)
    assert.equal(from.get(name), flag === null ? 'default' : 'settings.json')
  for (const { name, flag } of FIELDS) {
    assert.equal((await at.agent('settings', `--clear-${flag ?? name}`)).code, 0)
    assert.ok(!(name in readSettings(at.path)), name)
  }
  assert.deepEqual(readSettings(at.path), {})
})

test('a bad value of a flag is refused by its name, and nothing is written', async () => {
  await using at = await home()
  for (const { flag, kind } of FIELDS) {
    if (flag === null || kind.is === 'text' || kind.is === 'list') continue
    const { code, err } = await at.agent('settings', `--${flag}`, 'no such thing')
    assert.equal(code, 2, flag)
    assert.ok(err.includes(`--${flag}`), err)
  }
  await assert.rejects(readFile(at.path), { code: 'ENOENT' })
})

test('the file is refused with everything that is wrong, without its values', async () => {
  await using at = await home('{"modle": "sk-secret", "sandbox": "sk-secret", "retry_max_retries": -1}')
  const { code, err } = await at.agent('run', 'hi')
  assert.equal(code, 2)
  assert.match(err, /modle is unknown, did you mean model\?/)
  assert.match(err, /sandbox must be one of auto, docker, bubblewrap, host/)
  assert.match(err, /retry_max_retries must be a whole number from 0/)
  assert.ok(!err.includes('secret'))
})

test('a broken file names its line; agent settings starts all the same, and does not overwrite it', async () => {
  const broken = '{\n  "model": "a"\n  "sandbox": "auto"\n}\n'
  await using at = await home(broken)
  assert.match((await at.agent('run', 'hi')).err, /line 3: it is no JSON/)
  const shown = await at.agent('settings')
  assert.equal(shown.code, 1)
  assert.match(shown.out, /^setting +value +from/)
  assert.equal((await at.agent('settings', '--model', 'b')).code, 2)
  assert.equal(await readFile(at.path, 'utf8'), broken)
})

test('what is wrong in a file is repaired by the same command', async () => {
  await using at = await home('{"modle": "a", "sandbox": "nowhere", "model": "gpt-5"}')
  assert.equal((await at.agent('settings', '--default-sandbox', 'docker')).code, 1, 'one thing is left')
  assert.equal((await at.agent('settings', '--clear-unknown')).code, 0)
  assert.deepEqual(readSettings(at.path), { sandbox: 'docker', model: 'gpt-5' })
})

test('flag, variable, settings, default', async () => {
  await using at = await home(
    JSON.stringify({
      model: 'from-settings',
      fallback_models: ['one'],
      retry_max_retries: 9,
      default_reasoning_effort: 'high',
      sandbox: 'host',
      sandbox_image: 'own:1',
      session_dir: '/elsewhere',
      gateway_url: 'https://settings.example',
    }),
  )
  const options = agentOptions({}, { env: at.env, cwd: '/w' })
  assert.deepEqual(
    [
      options.model,
      options.fallbackModels,
      options.retry.maxRetries,
      options.effort,
      options.sandbox,
      options.sandboxImage,
      options.sessionDir,
      options.gateway,
    ],
    [
      'from-settings',
      ['one'],
      9,
      'high',
      { kind: 'host' },
      'own:1',
      '/elsewhere',
      { url: 'https://settings.example' },
    ],
  )
  const env = { ...at.env, AI_AGENT_MODEL: 'from-variable', AI_AGENT_REASONING_EFFORT: 'low' }
  const over = agentOptions({}, { env, cwd: '/w' })
  assert.deepEqual([over.model, over.effort], ['from-variable', 'low'])
  const flags = agentOptions({ model: 'from-flag', reasoningEffort: 'off' }, { env, cwd: '/w' })
  assert.deepEqual([flags.model, flags.effort], ['from-flag', 'off'])
})

test("a project's file says less, and its lists replace", async () => {
  await using at = await home('{"gateway_url": "https://evil.example", "sandbox": "host", "model": "a"}')
  assert.throws(
    () => readSettings(at.path, 'project'),
    /gateway_url is not for a project to say; sandbox: a project may not choose host/,
  )
  assert.deepEqual(mergedSettings({ models: ['a'], model: 'x' }, { models: ['b'] }), {
    models: ['b'],
    model: 'x',
  })
})
