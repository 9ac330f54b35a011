/** A process's way to the exec endpoint: requests and answers take a while, and either may be lost where the link is cut. */
import type { ExecChunk, ExecClient, ExecEnd, ExecFence, ExecResult, JobName } from '@beige/sandbox'
import type { Dice } from './dice.ts'
import type { Scheduler } from './scheduler.ts'
import { ENDPOINT, fail, type SimEndpoint, type SimJob, type Watcher } from './sim-endpoint.ts'
import type { SimProcess } from './sim-process.ts'

/** Of one process to what it talks to; breaking it breaks what is open. */
export type Link = { isCut: boolean; onCut: Set<() => void> }

export function createLink(): Link {
  return { isCut: false, onCut: new Set() }
}

export function cut(link: Link): void {
  link.isCut = true
  const broken = [...link.onCut]
  link.onCut.clear()
  for (const end of broken) end()
}

export type ExecClientParts = {
  scheduler: Scheduler
  process: SimProcess
  endpoint: SimEndpoint
  dice: Dice
  link: Link
  /** Sent with each request; absent until a session has it. */
  fence?: ExecFence
}

const never = () => Promise.reject(new Error('the simulated endpoint has no such call'))
const UNREACHABLE_MS = 40

export function createSimExecClient(parts: ExecClientParts): ExecClient {
  const { scheduler, process, endpoint, dice, link } = parts
  const latencyMs = () => dice.between(0.1, 2)
  const lost = () =>
    fail('endpoint_lost', {
      endpoint: ENDPOINT,
      reason: 'ECONNRESET',
      stale: false,
      commandStarted: 'unknown',
    })

  /** `work` is what the endpoint does; where its answer is lost the caller does not know that it was done. */
  function ask<T>(work: () => T, signal: AbortSignal): Promise<T> {
    if (signal.aborted) return Promise.reject(fail('aborted', { what: 'nothing', ended: true }))
    const { fence } = parts
    return new Promise((resolve, reject) => {
      if (link.isCut && dice.chance(0.5)) {
        const refused = fail('endpoint_unreachable', { endpoint: ENDPOINT, reason: 'ECONNREFUSED' })
        process.after(UNREACHABLE_MS, 'is refused', () => reject(refused))
        return
      }
      // Sent is sent: it arrives also when its sender is dead by then, unless the link takes it along.
      scheduler.after(latencyMs(), 'request arrives', () => {
        if (link.isCut && dice.chance(0.5))
          return void process.after(0, 'loses a request', () => reject(lost()))
        try {
          if (fence) endpoint.fence(fence)
          const answer = work()
          process.after(latencyMs(), 'is answered', () => (link.isCut ? reject(lost()) : resolve(answer)))
        } catch (error) {
          process.after(latencyMs(), 'is refused', () => reject(link.isCut ? lost() : error))
        }
      })
    })
  }

  /** Output from `offset` on until the job ends, the link breaks or the reader lets go. */
  function watch(
    job: SimJob,
    offset: number,
    onChunk: (chunk: ExecChunk) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<ExecEnd> {
    return new Promise((resolve, reject) => {
      const chunk = (text: string, from: number) => {
        const bytes = Buffer.from(text)
        process.after(latencyMs(), 'gets output', () => {
          if (bytes.length > 0) void onChunk({ stream: 'stdout', offset: from, bytes })
        })
      }
      const over = () => {
        job.watchers.delete(watcher)
        link.onCut.delete(watcher.lost)
        signal.removeEventListener('abort', letGo)
      }
      const letGo = () => {
        over()
        reject(fail('aborted', { what: `the job ${job.name.id}`, ended: false }, signal.reason))
      }
      const watcher: Watcher = {
        chunk: text => chunk(text, 0),
        ended(end) {
          over()
          // Behind all of its output.
          process.after(2.5, 'sees an end', () => resolve(end))
        },
        lost() {
          over()
          process.after(latencyMs(), 'loses a stream', () => reject(lost()))
        },
      }
      if (signal.aborted) return letGo()
      signal.addEventListener('abort', letGo, { once: true })
      if (job.output.length > offset) chunk(job.output.slice(offset), offset)
      if (job.end) return watcher.ended(job.end)
      job.watchers.add(watcher)
      link.onCut.add(watcher.lost)
    })
  }

  async function once(text: string, signal: AbortSignal): Promise<ExecResult> {
    const scope = parts.fence?.scope ?? ''
    let stdout = ''
    const end = await ask(() => {
      const ended = Promise.withResolvers<ExecEnd>()
      ended.promise.catch(() => {}) // where the answer to the request is lost, nobody asks for its end
      const onCut = () => process.after(latencyMs(), 'loses a command', () => ended.reject(lost()))
      link.onCut.add(onCut)
      endpoint.run(text, scope, {
        chunk: said => {
          stdout += said
        },
        ended(how) {
          link.onCut.delete(onCut)
          process.after(latencyMs(), 'sees an end', () => ended.resolve(how))
        },
        lost: onCut,
      })
      return { end: ended.promise }
    }, signal).then(started => started.end)
    return { ...end, stdout: Buffer.from(stdout), stderr: new Uint8Array(0) }
  }

  const textOf = (command: { args?: readonly string[] }) => command.args?.at(-1) ?? ''
  const stateOf = ({ name, text, end, output }: SimJob) => ({
    ...{ id: name.id, scope: name.scope, command: 'bash', args: ['-c', text], cwd: null },
    ...{ state: end ? ('exited' as const) : ('running' as const), pid: null, started_at: 0, ended_at: null },
    ...{ exit_code: end?.exitCode ?? null, signal: end?.signal ?? null, timed_out: false, kept: true },
    ...{ stdout_bytes: output.length, stderr_bytes: 0, dropped_bytes: 0 },
  })

  return {
    endpoint: { kind: 'url', url: ENDPOINT, headers: {} },
    health: signal =>
      ask(
        () => ({
          ...{ protocol: 'exec/2', version: '0', instance: endpoint.instance, features: ['stream', 'jobs'] },
          limits: { max_request_bytes: 1 << 20, max_response_bytes: 1 << 20 },
        }),
        signal,
      ),
    run: (command, signal) => once(textOf(command), signal),
    stream: never,
    hasJobs: async () => true,
    async startJob(command, job, { onStart, onChunk }, signal) {
      const started = await ask(() => endpoint.start(textOf(command), job), signal)
      onStart?.()
      return watch(started, 0, onChunk, signal)
    },
    async followJob(name, from, onChunk, signal) {
      const job = await ask(() => endpoint.job(name), signal)
      return watch(job, from.stdout, onChunk, signal)
    },
    jobState: async (name, signal) => stateOf(await ask(() => endpoint.job(name), signal)),
    // Its caller's deadline is one of real time, which does not pass here.
    killJob: async (name: JobName) => stateOf(await ask(() => endpoint.kill(name), NO_DEADLINE)),
    listJobs: async () => [],
    keepJob: async () => {},
    readJob: never,
    writeJobStdin: never,
    killScope: never,
    readFile: never,
    writeFile: never,
    stat: never,
    list: never,
    remove: never,
    fenced: fence => createSimExecClient({ ...parts, fence }),
    close: async () => {},
  }
}

const NO_DEADLINE = new AbortController().signal
