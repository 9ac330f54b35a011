/** `agent serve` as a process on loopback, in front of a paced provider, and viewers of it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type Server = AsyncDisposable & { pid: number; address: string; token: string; sessionDir: string }
export type SeenFrame = { type: string; [field: string]: unknown }

/** `pieces` of an answer, one every `everyMs`. */
export async function startServer(
  root: string,
  home: string,
  provider: { pieces: number; everyMs: number },
): Promise<Server> {
  const model = spawn(
    process.execPath,
    [
      join(import.meta.dirname, '../gateway/paced-provider.ts'),
      String(provider.pieces),
      String(provider.everyMs),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const port = await firstLine(model)
  const built = join(root, 'packages/agent/dist/main.js')
  const program = existsSync(built)
    ? [built]
    : ['--conditions=beige-source', join(root, 'packages/agent/src/main.ts')]
  const sessionDir = join(home, 'sessions')
  const child = spawn(
    process.execPath,
    [
      ...program,
      'serve',
      '--sandbox',
      'host',
      '--model',
      'demo',
      '--listen',
      '127.0.0.1:0',
      '--session-dir',
      sessionDir,
      '--max-connections',
      '20000',
      '--session-idle-timeout',
      '0',
    ],
    {
      cwd: home,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: home,
        BEIGE_HOME: home,
        AI_PROVIDER: 'openai',
        AI_BASE_URL: `http://127.0.0.1:${port}/v1`,
        AI_API_KEY: 'not-a-key',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const line: { listeners: { address: string }[] } = JSON.parse(await firstLine(child))
  const [token = ''] = readFileSync(join(home, 'serve-tokens'), 'utf8').split(' ')
  return {
    pid: child.pid ?? 0,
    address: line.listeners[0]?.address ?? '',
    token,
    sessionDir,
    [Symbol.asyncDispose]: async () => {
      const ends = [child, model].map(one => once(one, 'close'))
      child.kill('SIGKILL')
      model.kill('SIGKILL')
      await Promise.all(ends)
    },
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no stdout')
  const lines = createInterface(child.stdout)
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}`)))
  ended.catch(() => {})
  const [line] = await Promise.race([once(lines, 'line'), ended])
  return String(line)
}

/** Resolves when it is open. `onFrame` hears every frame from `ready` on. */
export async function viewer(
  { address, token }: Server,
  sessionId: string,
  onFrame: (frame: SeenFrame) => void,
): Promise<WebSocket> {
  const url = `ws://${address}/_beyond/agent?session_id=${sessionId}`
  const socket = new WebSocket(url, ['beige.v1', `bearer.${token}`])
  socket.addEventListener('message', ({ data }) => onFrame(JSON.parse(String(data))))
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error(`refused: ${sessionId}`)))
  })
  return socket
}
