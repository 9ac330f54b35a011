/**
 * The exec endpoint of a simulation: jobs by scope and id, a fence by scope, and a ledger that no crash takes anything from.
 * A command is `effect TOKEN AFTER_MS LASTS_MS`: its effect is one line of the ledger.
 */
import { failer } from '@beige/protocol'
import { type ExecEnd, type ExecFence, type JobName, type JobStart, sandboxErrors } from '@beige/sandbox'
import type { LedgerLine } from '../../session-proof/told.ts'
import type { Scheduler } from './scheduler.ts'

export const fail = failer(sandboxErrors)
export const ENDPOINT = 'http://sandbox.simulated'

export type Watcher = { chunk(text: string): void; ended(end: ExecEnd): void; lost(): void }
export type SimJob = {
  name: JobName
  text: string
  output: string
  end: ExecEnd | null
  watchers: Set<Watcher>
  cancel: (() => void)[]
}

export interface SimEndpoint {
  readonly instance: string
  readonly ledger: readonly LedgerLine[]
  /** Every call comes through here: an owner whose successor has spoken is refused. */
  fence(fence: ExecFence): void
  start(text: string, job: JobStart): SimJob
  job(name: JobName): SimJob
  kill(name: JobName): SimJob
  /** Without a job: nobody can join it, and it is not ended by its caller's end. */
  run(text: string, scope: string, watcher: Watcher): void
  /** What runs is gone, and so is the memory of what ended. */
  restart(): void
}

const EXITED: ExecEnd = { exitCode: 0, signal: null, timedOut: false, heldPipes: false }
const KILLED: ExecEnd = { exitCode: null, signal: 'SIGTERM', timedOut: false, heldPipes: false }
export function effectCommand(token: string, afterMs: number, lastsMs: number): string {
  return `effect ${token} ${afterMs} ${lastsMs}`
}
const COMMAND = /^effect (\S+) (\d+) (\d+)$/

export function createSimEndpoint(scheduler: Scheduler): SimEndpoint {
  const ledger: LedgerLine[] = []
  const fences = new Map<string, number>()
  let jobs = new Map<string, SimJob>()
  let generation = 1

  const keyOf = ({ scope, id }: JobName) => `${scope}/${id}`

  function finish(job: SimJob, end: ExecEnd): void {
    for (const cancel of job.cancel) cancel()
    job.end = end
    for (const watcher of job.watchers) watcher.ended(end)
    job.watchers.clear()
  }

  function begin(job: SimJob, jobId: string | null): void {
    const [, token, afterMs, lastsMs] = COMMAND.exec(job.text) ?? []
    const effect = () => {
      if (token === undefined) return
      const line: LedgerLine = {
        number: ledger.length + 1,
        scope: job.name.scope,
        token,
        job: jobId,
        atMs: scheduler.now,
      }
      ledger.push(line)
      job.output = `effect ${line.number} of ${token}\n`
      for (const watcher of job.watchers) watcher.chunk(job.output)
    }
    job.cancel.push(scheduler.after(Number(afterMs ?? 0), 'effect', effect))
    const lasts = Math.max(Number(lastsMs ?? 0), Number(afterMs ?? 0))
    job.cancel.push(scheduler.after(lasts, 'command ends', () => finish(job, EXITED)))
  }

  function job(name: JobName): SimJob {
    const found = jobs.get(keyOf(name))
    if (!found) throw fail('not_found', { id: name.id })
    return found
  }

  return {
    get instance() {
      return `instance-${generation}`
    },
    ledger,
    fence({ scope, n }) {
      if (n < (fences.get(scope) ?? 0)) throw fail('conflict', { id: scope, message: 'fenced' })
      fences.set(scope, n)
    },
    start(text, { id, scope, instance }) {
      const name = { id, scope }
      if (instance !== undefined && instance !== `instance-${generation}`)
        throw fail('gone', { id, message: 'another instance' })
      const known = jobs.get(keyOf(name))
      if (known && known.text !== text) throw fail('conflict', { id, message: 'the id of another command' })
      if (known) return known
      const made: SimJob = { name, text, output: '', end: null, watchers: new Set(), cancel: [] }
      jobs.set(keyOf(name), made)
      begin(made, id)
      return made
    },
    job,
    kill(name) {
      const found = job(name)
      if (!found.end) finish(found, KILLED)
      return found
    },
    run(text, scope, watcher) {
      const watchers = new Set([watcher])
      const made: SimJob = { name: { scope, id: '' }, text, output: '', end: null, watchers, cancel: [] }
      jobs.set(`run ${jobs.size} ${scheduler.now}`, made)
      begin(made, null)
    },
    restart() {
      generation++
      for (const one of jobs.values()) {
        if (one.end) continue
        for (const cancel of one.cancel) cancel()
        for (const watcher of one.watchers) watcher.lost()
      }
      jobs = new Map()
    },
  }
}
