/** Makes the client of one exec endpoint out of its transport, its commands, its jobs and its file calls. */
import { type ExecHealth, isError } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { Command, ExecClient, ExecEndpoint, ExecFence, FileCalls } from '../exec-client.ts'
import { healthSchema, parseAnswer } from './answers.ts'
import { type Attached, offers, runCommand, streamCommand } from './commands.ts'
import { filesByApi } from './files-by-api.ts'
import { filesByCommand } from './files-by-command.ts'
import { jobCalls } from './jobs.ts'
import { createTransport, SILENCE_MS, type Transport } from './transport.ts'

const MAX_HEALTH_BYTES = 64 * 1024

export type ExecClientOptions = {
  /** Sent with each request. */
  fence?: ExecFence
  /** What the endpoint said a moment ago, so that it is not asked again. */
  health?: ExecHealth | null
}

/**
 * @example
 * const exec = createExecClient({ kind: 'unix', socketPath: '/run/x/exec.sock', basePath: '' })
 * const { exitCode, stdout } = await exec.run({ command: 'uname', args: ['-a'] }, signal)
 */
export function createExecClient(endpoint: ExecEndpoint, options: ExecClientOptions = {}): ExecClient {
  const transport = createTransport(endpoint)
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const client: Client = {
    endpoint,
    known: options.health,
    // Every call ends with the client: `close` waits until nothing that it started is left.
    async owned(signal, work) {
      if (signal.aborted || closing.signal.aborted) throw fail('aborted', { what: 'nothing', ended: true })
      const promise = work(AbortSignal.any([signal, closing.signal]))
      running.add(promise)
      try {
        return await promise
      } finally {
        running.delete(promise)
      }
    },
    async close() {
      closing.abort()
      await Promise.allSettled(running)
      transport.close()
    },
  }
  return options.fence ? fencedCalls(client, transport, options.fence) : callsOf(client, transport)
}

function fencedCalls(client: Client, transport: Transport, fence: ExecFence): ExecClient {
  const fenced = transport.withHeaders({ 'x-exec-fence': `${fence.scope} ${fence.n}` })
  const owned: Client['owned'] = async (signal, work) => {
    try {
      return await client.owned(signal, work)
    } catch (error) {
      // A conflict may be about many things, but of a question without any only the fence is left.
      if (!isConflict(error) || !isConflict(await rejectionOf(askHealth(fenced, signal)))) throw error
      throw fail('taken_over', { scope: fence.scope }, error)
    }
  }
  return callsOf(client, fenced, owned)
}

function isConflict(error: unknown): boolean {
  if (isError(error, 'file_refused')) return error.data.status === 409
  return isError(error, 'conflict') || (isError(error, 'endpoint_refused') && error.data.code === 'conflict')
}

function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  )
}

/** What all views of one client share. */
type Client = Pick<ExecClient, 'endpoint' | 'close'> & {
  /** What the endpoint said of itself; undefined: it was not asked. */
  known: ExecHealth | null | undefined
  owned<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
}

function callsOf(client: Client, transport: Transport, owned: Client['owned'] = client.owned): ExecClient {
  const api = filesByApi(transport)
  const byCommand = filesByCommand(run, transport.name)

  async function health(signal: AbortSignal): Promise<ExecHealth | null> {
    client.known = await askHealth(transport, signal)
    return client.known
  }

  async function attached(signal: AbortSignal): Promise<Attached> {
    return { transport, health: client.known === undefined ? await health(signal) : client.known }
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
    endpoint: client.endpoint,
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
    fenced: fence => fencedCalls(client, transport, fence),
    close: client.close,
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
