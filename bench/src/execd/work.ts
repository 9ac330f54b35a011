/** The same four pieces of work by every way there is: through execd, by a plain process, by `docker exec` and `docker cp`. */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ExecChunk, ExecClient } from '@beige/sandbox'

const STDOUT_BYTES = 100_000_000
const FILE_BYTES = 8 * 1024 * 1024
const FLOOD = ['head', '-c', `${STDOUT_BYTES}`, '/dev/zero'] as const

/** Its columns by name; each call checks what it got. */
export type Work = {
  name: string
  rounds: number
  ways: Record<string, (signal: AbortSignal) => Promise<void>>
}

export type Places = {
  /** On this machine, without a sandbox. */
  bare: { exec: ExecClient; root: string }
  /** The sandbox of the docker driver, where there is one. */
  docker: { exec: ExecClient; container: string; workspace: string } | null
  /** For what `docker cp` reads and writes on this side. */
  folder: string
}

export async function allWork({ bare, docker, folder }: Places): Promise<Work[]> {
  const content = randomBytes(FILE_BYTES)
  const local = join(folder, 'local.bin')
  await writeFile(local, content)
  const file = (root: string) => join(root, 'bench.bin')
  const same = (bytes: Uint8Array): void => {
    if (!content.equals(bytes))
      throw new Error(`${bytes.length} bytes came back, and not those that were written`)
  }
  const readBack = async (exec: ExecClient, path: string, signal: AbortSignal) =>
    same((await exec.readFile(path, signal)).bytes)
  const write = async (exec: ExecClient, path: string, signal: AbortSignal) => {
    await exec.writeFile(path, content, signal)
  }
  const echo = async (exec: ExecClient, signal: AbortSignal) =>
    isOk((await exec.run({ command: '/bin/echo', args: ['ok'] }, signal)).stdout)
  const inDocker = docker && {
    command: {
      execd_docker_ms: (signal: AbortSignal) => echo(docker.exec, signal),
      docker_exec_ms: dockerEcho,
    },
    flood: {
      execd_docker_ms: (signal: AbortSignal) => flood(docker.exec, signal),
      docker_exec_ms: (signal: AbortSignal) =>
        floodOf('docker', ['exec', docker.container, ...FLOOD], signal),
    },
    read: {
      execd_docker_ms: (signal: AbortSignal) => readBack(docker.exec, file(docker.workspace), signal),
      docker_cp_ms: async (signal: AbortSignal) => {
        const target = join(folder, 'copied.bin')
        await run('docker', ['cp', `${docker.container}:${file(docker.workspace)}`, target], { signal })
        same(await readFile(target))
      },
    },
    write: {
      execd_docker_ms: (signal: AbortSignal) => write(docker.exec, file(docker.workspace), signal),
      docker_cp_ms: async (signal: AbortSignal) => {
        await run('docker', ['cp', local, `${docker.container}:${docker.workspace}/copied.bin`], { signal })
      },
    },
  }
  async function dockerEcho(signal: AbortSignal): Promise<void> {
    const argv = ['exec', docker?.container ?? '', '/bin/echo', 'ok']
    isOk(Buffer.from((await run('docker', argv, { signal })).stdout))
  }
  return [
    {
      name: 'command',
      rounds: 100,
      ways: {
        p50_ms: signal => echo(bare.exec, signal),
        host_spawn_ms: async signal => isOk(Buffer.from((await run('/bin/echo', ['ok'], { signal })).stdout)),
        ...inDocker?.command,
      },
    },
    {
      name: 'stdout-100mb',
      rounds: 3,
      ways: {
        p50_ms: signal => flood(bare.exec, signal),
        host_spawn_ms: signal => floodOf(FLOOD[0], FLOOD.slice(1), signal),
        ...inDocker?.flood,
      },
    },
    {
      name: 'file-8mb-write',
      rounds: 10,
      ways: { p50_ms: signal => write(bare.exec, file(bare.root), signal), ...inDocker?.write },
    },
    {
      name: 'file-8mb-read',
      rounds: 10,
      ways: { p50_ms: signal => readBack(bare.exec, file(bare.root), signal), ...inDocker?.read },
    },
  ]
}

const run = promisify(execFile)

function isOk(stdout: Uint8Array): void {
  const text = Buffer.from(stdout).toString()
  if (text !== 'ok\n') throw new Error(`the command answered ${JSON.stringify(text)}`)
}

async function flood(exec: ExecClient, signal: AbortSignal): Promise<void> {
  let size = 0
  const [command, ...args] = FLOOD
  const count = ({ bytes }: ExecChunk): void => {
    size += bytes.length
  }
  await exec.stream({ command, args }, count, signal)
  isWhole(size)
}

async function floodOf(command: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], signal })
  let size = 0
  for await (const bytes of child.stdout) size += bytes.length
  isWhole(size)
}

function isWhole(size: number): void {
  if (size !== STDOUT_BYTES) throw new Error(`${size} of ${STDOUT_BYTES} bytes came`)
}
