/** Makes the client of one exec endpoint out of its transport, its commands, its jobs and its file calls. */
import type { ExecHealth } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { Command, ExecClient, ExecEndpoint, FileCalls } from '../exec-client.ts'
import { healthSchema, parseAnswer } from './answers.ts'
import { type Attached, offers, runCommand, streamCommand } from './commands.ts'
import { filesByApi } from './files-by-api.ts'
import { filesByCommand } from './files-by-command.ts'
import { jobCalls } from './jobs.ts'
import { createTransport, SILENCE_MS, type Transport } from './transport.ts'

const MAX_HEALTH_BYTES = 64 * 1024

export type ExecClientOptions = {
  /** Sent with each request: the endpoint refuses whoever comes with a lower `n` of the same scope. */
  fence?: { scope: string; n: number }
  /** What the endpoint said a moment ago, so that it is not asked again. */
  health?: ExecHealth | null
}

/**
 * @example
 * const exec = createExecClient({ kind: 'unix', socketPath: '/run/x/exec.sock', basePath: '' })
 * const { exitCode, stdout } = await exec.run({ command: 'uname', args: ['-a'] }, signal)
 */
export function createExecClient(endpoint: ExecEndpoint, options: ExecClientOptions = {}): ExecClient {
  const { fence } = options
  const transport = createTransport(endpoint, fence ? { 'x-exec-fence': `${fence.scope} ${fence.n}` } : {})
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const api = filesByApi(transport)
  const byCommand = filesByCommand(run, transport.name)
  let known = options.health

  async function health(signal: AbortSignal): Promise<ExecHealth | null> {
    known = await askHealth(transport, signal)
    return known
  }

  async function attached(signal: AbortSignal): Promise<Attached> {
    return { transport, health: known === undefined ? await health(signal) : known }
  }

  // Every call ends with the client: `close` waits until nothing that it started is left.
  async function owned<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted || closing.signal.aborted) throw fail('aborted', { what: 'nothing', ended: true })
    const promise = work(AbortSignal.any([signal, closing.signal]))
    running.add(promise)
    try {
      return await promise
    } finally {
      running.delete(promise)
    }
  }

  function run(command: Command, signal: AbortSignal) {
    return owned(signal, async either => await runCommand(await attached(either), command, either))
  }

  function file<T>(
    signal: AbortSignal,
    call: (files: FileCalls, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return owned(signal, async either => {
      const at = await attached(either)
      return await call(offers(at, 'files') ? api : byCommand, either)
    })
  }

  const jobs = jobCalls((signal, call) =>
    owned(signal, async either => await call(await attached(either), either)),
  )

  return {
    ...jobs,
    endpoint,
    health: signal => owned(signal, health),
    run,
    stream(command, onChunk, signal) {
      return owned(signal, async either => {
        const at = await attached(either)
        if (offers(at, 'stream')) return await streamCommand(at, command, onChunk, either)
        const { stdout, stderr, ...end } = await runCommand(at, command, either)
        if (stdout.length > 0) await onChunk({ stream: 'stdout', offset: 0, bytes: stdout })
        if (stderr.length > 0) await onChunk({ stream: 'stderr', offset: 0, bytes: stderr })
        return end
      })
    },
    readFile: (path, signal, range) => file(signal, (files, either) => files.readFile(path, either, range)),
    writeFile: (path, bytes, signal, how) =>
      file(signal, (files, either) => files.writeFile(path, bytes, either, how)),
    stat: (path, signal) => file(signal, (files, either) => files.stat(path, either)),
    list: (path, signal, how) => file(signal, (files, either) => files.list(path, either, how)),
    remove: (path, signal) => file(signal, (files, either) => files.remove(path, either)),
    async close() {
      closing.abort()
      await Promise.allSettled(running)
      transport.close()
    },
  }
}

/** Null where there is no `/health`, which is allowed: such an endpoint knows the base request alone. */
export async function askHealth(transport: Transport, signal: AbortSignal): Promise<ExecHealth | null> {
  const wire = { method: 'GET', path: '/health', silenceMs: SILENCE_MS, control: true } as const
  const answer = await transport.send(wire, signal, MAX_HEALTH_BYTES)
  if (answer.status === 404) return null
  const health = parseAnswer(answer, healthSchema, transport.name)
  if (health.protocol !== 'exec/2') {
    throw fail('endpoint_wrong', { endpoint: transport.name, reason: `it speaks ${health.protocol}` })
  }
  return health
}
