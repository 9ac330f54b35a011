/** Runs test-support's model server as a process of its own and hears from it when a request arrives. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type ModelProcess = AsyncDisposable & {
  /** `http://127.0.0.1:<port>`. */
  url: string
  /** Calls `listener` at each request until the returned function is called. */
  onRequest: (listener: (turn: number, atEpochMs: number) => void) => () => void
}

export async function startModelProcess(root: string): Promise<ModelProcess> {
  const program = join(root, 'test-support/src/model-server-main.ts')
  const script = join(import.meta.dirname, 'three-turns.ts')
  const child = spawn(process.execPath, ['--conditions=beige-source', program, script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const listeners = new Set<(turn: number, atEpochMs: number) => void>()
  const lines = createInterface(child.stdout)
  const url = await firstLine(child, lines)
  lines.on('line', line => {
    const said: unknown = JSON.parse(line)
    if (!isArrival(said)) return
    for (const listener of listeners) listener(said.turn, said.at_epoch_ms)
  })
  return {
    url,
    onRequest(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async [Symbol.asyncDispose]() {
      const closed = once(child, 'close')
      child.kill('SIGTERM')
      await closed
    },
  }
}

function firstLine(child: ChildProcess, lines: NodeJS.EventEmitter): Promise<string> {
  return new Promise((resolve, reject) => {
    lines.once('line', resolve)
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the model server ended with ${code} before it listened`)))
  })
}

function isArrival(value: unknown): value is { turn: number; at_epoch_ms: number } {
  if (typeof value !== 'object' || value === null) return false
  return (
    'turn' in value &&
    typeof value.turn === 'number' &&
    'at_epoch_ms' in value &&
    typeof value.at_epoch_ms === 'number'
  )
}
