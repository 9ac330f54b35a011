/** A folder of sessions, and the command on it as a person types it. */
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { isSessionId, type RecordBody, type SessionId, systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore } from '@beige/sessions'
import type { ProcessWorld } from '../process-world.ts'
import { program } from '../program.ts'

export type SessionsBench = {
  root: string
  cwd: string
  /** Makes the session and ends its ownership. */
  make(id: string, ...bodies: readonly RecordBody[]): Promise<void>
  agent(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }>
  dispose(): void
}

export function sessionsBench(env: Record<string, string> = {}): SessionsBench {
  const cwd = mkdtempSync(join(tmpdir(), 'beige-cli-'))
  if (process.geteuid?.() === 0) chownSync(cwd, 10001, 10001)
  const root = join(cwd, 'home', 'sessions')
  return {
    root,
    cwd,
    async make(id, ...bodies) {
      const store = createFilesStore({ root, clock: systemClock, random: systemRandom })
      await store.create({ id: named(id), cwd, model: 'fake/m1' }, ...bodies)
      await store.close()
    },
    async agent(...args) {
      const [out, err] = [collector(), collector()]
      const world: ProcessWorld = {
        env: { BEIGE_HOME: join(cwd, 'home'), ...env },
        cwd,
        stdin: Readable.from([]),
        stdout: out.stream,
        stderr: err.stream,
        clock: systemClock,
        random: systemRandom,
        onSignal: () => () => {},
        onOutputClosed: () => () => {},
        exit: code => {
          throw new TypeError(`exit ${code}`)
        },
      }
      const code = await program(args, world)
      return { code, stdout: out.text(), stderr: err.text() }
    },
    dispose: () => rmSync(cwd, { recursive: true }),
  }
}

export function named(id: string): SessionId {
  if (!isSessionId(id)) throw new TypeError(id)
  return id
}

/** A prompt and its answer. */
export function turn(n: number, text: string, answer: string, parent: string | null = null): RecordBody[] {
  const [prompt, message] = [`e_p${n}`, `e_m${n}`]
  return [
    {
      type: 'prompt',
      id: prompt,
      parent_id: parent,
      message: [{ type: 'text', text }],
      origin: { kind: 'local' },
    },
    {
      type: 'message',
      id: message,
      parent_id: prompt,
      role: 'assistant',
      content: [{ type: 'text', text: answer }],
      model: { provider: 'fake', id: 'm1', api: 'anthropic-messages' },
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_tokens: 1,
        cache_write_tokens: 0,
        cost_usd: 0.25,
      },
      stop_reason: 'end_turn',
    },
    { type: 'run_end', run_id: prompt, outcome: 'done', steps: 1 },
  ]
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
