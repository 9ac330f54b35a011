/** An unmodified pi opens what `agent export --format pi` writes, and goes on from the current branch. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore } from '@beige/sessions'
import { startModelServer } from '@beige/test-support'
import { exported } from '../src/export/export.ts'
import { named } from '../src/sessions/sessions.fixture.ts'
import { everyRecord } from './every-record.ts'

const PI = join(
  import.meta.dirname,
  '../../../node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js',
)
const skip = existsSync(PI) ? false : 'absent: pi'

test('pi goes on with the exported session: the model is sent the compaction and what follows', {
  skip,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'beige-pi-'))
  await using server = await startModelServer({ script: () => ({ text: 'gone on' }) })
  try {
    const file = join(folder, 'session.jsonl')
    writeFileSync(file, await exportOf(folder))
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').length
    const run = await pi(folder, server.url, ['-p', '--session', file, 'what now?'])
    assert.equal(run.code, 0, run.stderr)
    assert.equal(run.stdout.trim(), 'gone on')
    const sent = JSON.stringify(server.requests.at(-1)?.body)
    for (const told of [
      'compacted note',
      'the way that was taken',
      'kept',
      'after it',
      'steered note',
      'what now?',
    ])
      assert.ok(sent.includes(told), told)
    for (const folded of ['first note', 'a way that was left', 'a branch of the branch', 'of the host'])
      assert.ok(!sent.includes(folded), folded)
    assert.deepEqual(server.refusals, [])
    const after = readFileSync(file, 'utf8').trimEnd().split('\n')
    assert.ok(after.length > lines, 'pi wrote behind it')
    assert.partialDeepStrictEqual(JSON.parse(after.at(-1) ?? ''), {
      type: 'message',
      message: { role: 'assistant' },
    })
    const page = await pi(folder, server.url, ['--export', file, join(folder, 'page.html')])
    assert.equal(page.code, 0, page.stderr)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

async function exportOf(folder: string): Promise<string> {
  const store = createFilesStore({ root: join(folder, 's'), clock: systemClock, random: systemRandom })
  const id = named('s_pi')
  const log = await store.create({ id, cwd: folder, model: 'fake/m1' }, ...everyRecord('note'))
  await store.close()
  return exported('pi', id, log.records, 0)
}

async function pi(folder: string, modelUrl: string, args: readonly string[]) {
  const home = join(folder, 'pi')
  mkdirSync(home, { recursive: true })
  const provider = {
    baseUrl: `${modelUrl}/v1`,
    api: 'openai-completions',
    apiKey: 'k',
    models: [{ id: 'm' }],
  }
  writeFileSync(join(home, 'models.json'), JSON.stringify({ providers: { fake: provider } }))
  const child = spawn(
    process.execPath,
    [PI, '--provider', 'fake', '--model', 'm', '--offline', '--no-mcp', ...args],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        PI_CODING_AGENT_DIR: home,
        PI_OFFLINE: '1',
        PI_TELEMETRY: '0',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const code = new Promise<number | null>(resolve => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, stdout, stderr }
}
