/**
 * The whole command in this process, at a terminal of some width: what a person sees, against golden/ with the moving
 * parts masked (UPDATE_GOLDEN=1 writes the files anew).
 */
import assert from 'node:assert/strict'
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { type ModelServer, type Script, startModelServer, taskScript } from '@beige/test-support'
import { refuseWorkspaceOfRoot } from './hands.ts'
import type { ProcessWorld } from './process-world.ts'
import { program } from './program.ts'

const ESC = '\u001b'
const CODES = /\u001b\[\d+m/g
const USAGE = { inputTokens: 1100, cacheReadTokens: 13_100, outputTokens: 305 }

type Screen = { stdout: string; stderr: string; code: number }

async function atTerminal(
  script: Script,
  args: readonly string[],
  terminal: { columns: number; env?: Record<string, string> },
): Promise<Screen> {
  const server = await startModelServer({ script })
  const folder = mkdtempSync(join(tmpdir(), 'beige-program-'))
  if (process.geteuid?.() === 0) chownSync(folder, 10001, 10001) // a workspace of root is refused
  try {
    const out = collector(terminal.columns)
    const err = collector(terminal.columns)
    const world = fakeWorld(server, folder, out.stream, err.stream, terminal.env ?? {})
    const code = await program(args, world)
    assert.deepEqual(server.refusals, [])
    return { stdout: masked(out.text()), stderr: masked(err.text()), code }
  } finally {
    await server.close()
    rmSync(folder, { recursive: true })
  }
}

function fakeWorld(
  server: ModelServer,
  folder: string,
  stdout: ProcessWorld['stdout'],
  stderr: ProcessWorld['stderr'],
  env: Record<string, string>,
): ProcessWorld {
  return {
    env: {
      BEIGE_HOME: join(folder, 'home'),
      AI_BASE_URL: server.url,
      AI_PROVIDER: 'anthropic',
      AI_API_KEY: 'k',
      TERM: 'xterm',
      ...env,
    },
    cwd: folder,
    stdin: Readable.from([]),
    stdout,
    stderr,
    clock: { ...systemClock, monotonic: () => 0 }, // durations are as wide in every run
    random: systemRandom,
    onSignal: () => () => {},
    onOutputClosed: () => () => {},
    exit: code => {
      throw new Error(`exit ${code}`)
    },
  }
}

function collector(columns: number) {
  let text = ''
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      text += chunk
      done()
    },
  })
  return { stream: Object.assign(stream, { isTTY: true, columns }), text: () => text }
}

/** Ids, in as many columns as they took. */
function masked(text: string): string {
  return text.replace(/s_[0-9A-Z]{26}/g, id => `s_${'#'.repeat(id.length - 2)}`)
}

const TASK = taskScript([
  {
    text: 'I look at the tests first.\n',
    calls: [{ name: 'baash', input: { command: 'npm test' } }],
    usage: USAGE,
  },
  { text: 'There is no such tool here, so I can not run them. Ask me again with one.', usage: USAGE },
])

for (const columns of [80, 40])
  for (const color of [true, false])
    test(`a task at ${columns} columns, ${color ? 'with colour' : 'with NO_COLOR'}`, async () => {
      const env: Record<string, string> = color ? {} : { NO_COLOR: '1' }
      const { stdout, stderr, code } = await atTerminal(TASK, ['run', 'run the tests'], { columns, env })
      assert.deepEqual([code, stderr], [0, ''])
      const file = new URL(`./golden/task-${columns}${color ? '-color' : ''}.txt`, import.meta.url)
      if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, stdout)
      assert.equal(stdout, readFileSync(file, 'utf8'))
      if (!color) assert.doesNotMatch(stdout, CODES)
    })

test('a terminal that can do nothing gets no escape sequence', async () => {
  const { stdout } = await atTerminal(TASK, ['run', 'go'], { columns: 80, env: { TERM: 'dumb' } })
  assert.ok(stdout.includes('I look at the tests first.') && !stdout.includes(ESC), stdout)
})

test('a failure at a terminal: what failed, why, and the session to go on with', async () => {
  const fault = { kind: 'status', status: 401, message: `invalid ${ESC}[2J x-api-key` } as const
  const { stdout, code } = await atTerminal([{ fault }], ['run', 'go'], { columns: 80 })
  assert.equal(code, 1)
  const plain = stdout.replaceAll(`\r${ESC}[K`, '')
  assert.ok(!plain.includes(ESC), JSON.stringify(plain))
  assert.match(plain.replaceAll('\n', ' '), /claude-opus-4-8 did not answer: .*invalid \\u001b\[2J x-api-key/)
  assert.match(plain, /session s_#+ {2}\(agent run -c to go on\)\n$/)
})

test('a stack is shown with --debug alone', async () => {
  const plain = await atTerminal([], ['run', '--sandbox', 'nowhere', 'go'], { columns: 80 })
  assert.equal(plain.code, 2)
  assert.doesNotMatch(plain.stderr, /\n\s+at /)
  const debug = await atTerminal([], ['run', '--debug', '--sandbox', 'nowhere', 'go'], { columns: 80 })
  assert.match(debug.stderr, /\n\s+at /)
})

test('a workspace of root is refused before any model is asked', {
  skip: process.geteuid?.() !== 0 && 'absent: root',
}, async () => {
  await assert.rejects(refuseWorkspaceOfRoot({ sandbox: { kind: 'auto' } }, '/'), {
    code: 'workspace_of_root',
  })
  await refuseWorkspaceOfRoot({ sandbox: { kind: 'host' } }, '/')
})
