/** Jobs by scope and id: started once, kept for their ttl, then remembered as gone. */
import { randomUUID } from 'node:crypto'
import type { Has } from './defects.ts'
import { tellEnd } from './notify.ts'
import type { Run } from './run.ts'
import { Refusal, type Wanted, type WantedJob } from './wire.ts'

const DEFAULT_TTL_S = 3600
const SHORT_TTL_S = 8

export type Job = {
  id: string
  scope: string
  wanted: Wanted
  run: Run
  keep: boolean
  notify: WantedJob['notify']
  /** Of a one-shot request without a job: nobody can ask for it. */
  isHidden: boolean
  startedAt: number
  endedAt: number | null
}

export type Jobs = {
  /** Finds the job of this request or begins it. */
  begin(wanted: Wanted, start: (maxHeldBytes: () => number) => Run): Job
  find(scope: string, id: string): Job
  list(scope: string): Job[]
  keep(job: Job, notify: WantedJob['notify']): void
  remove(job: Job): void
  killAll(jobs: readonly Job[]): Promise<void>
  all(): Job[]
  close(): void
}

export function createJobs(has: Has, instance: string, maxHeldBytes: number): Jobs {
  const jobs = new Map<string, Job>()
  const gone = new Set<string>()
  const closing = new AbortController()
  const timers = new Set<NodeJS.Timeout>()
  const keyOf = (scope: string, id: string) => `${scope}\0${id}`

  function startOf(wanted: Wanted, start: (max: () => number) => Run): Job {
    const id = wanted.job?.id ?? `x-${randomUUID()}`
    const scope = wanted.job?.scope ?? ''
    const keep = wanted.job?.keep ?? false
    const held: { job: Job | null } = { job: null }
    const run = start(() => (held.job?.keep || keep ? maxHeldBytes : Number.POSITIVE_INFINITY))
    const isHidden = !wanted.job && !wanted.stream
    const times = { startedAt: Date.now(), endedAt: null }
    const job: Job = { id, scope, wanted, run, keep, notify: wanted.job?.notify, isHidden, ...times }
    held.job = job
    jobs.set(keyOf(scope, id), job)
    void run.ended.then(() => ended(job))
    return job
  }

  function ended(job: Job): void {
    job.endedAt = Date.now()
    if (closing.signal.aborted) return
    if (job.isHidden) return void jobs.delete(keyOf(job.scope, job.id))
    if (job.keep && job.notify) tell(job)
    const ttlS = job.wanted.job?.ttl_s ?? DEFAULT_TTL_S
    const keptS = has('ttl_is_short') ? Math.min(ttlS, SHORT_TTL_S) : ttlS
    const timer = setTimeout(() => {
      timers.delete(timer)
      jobs.delete(keyOf(job.scope, job.id))
      gone.add(keyOf(job.scope, job.id))
    }, keptS * 1000)
    timers.add(timer)
  }

  function tell(job: Job): void {
    if (job.notify) void tellEnd(job.notify, () => describe(job, has), has, closing.signal)
  }

  return {
    begin(wanted, start) {
      const asked = wanted.job
      if (!asked) return startOf(wanted, start)
      const refuse = (code: 'gone' | 'conflict', message: string) => {
        if (asked.notify && has('notifies_refused_jobs')) {
          void tellEnd(asked.notify, () => ({ id: asked.id, state: 'exited' }), has, closing.signal)
        }
        return new Refusal(code, message)
      }
      if (asked.instance !== undefined && asked.instance !== instance && !has('ignores_instance')) {
        throw refuse('gone', 'this is another instance')
      }
      const key = keyOf(asked.scope, asked.id)
      const known = jobs.get(key)
      if (!known || has('runs_twice_for_one_id')) {
        if (gone.has(key) && !has('forgets_ended_ids'))
          throw refuse('gone', 'it ran, its end is no longer kept')
        return startOf(wanted, start)
      }
      if (bodyOf(known.wanted) !== bodyOf(wanted) && !has('takes_another_body')) {
        throw refuse('conflict', 'the id belongs to another command')
      }
      return known
    },
    find(scope, id) {
      const job = jobs.get(keyOf(scope, id))
      if (job && !job.isHidden) return job
      if (gone.has(keyOf(scope, id))) throw new Refusal('gone', 'its end is no longer kept')
      throw new Refusal('not_found', 'no such job')
    },
    list: scope => [...jobs.values()].filter(job => job.scope === scope && !job.isHidden),
    keep(job, notify) {
      if (job.endedAt !== null) throw new Refusal('conflict', 'it has ended')
      if (has('ignores_keep_later')) return
      job.keep = true
      job.notify = notify ?? job.notify
      job.run.holders.clear()
      job.run.regulate()
    },
    remove: job => void jobs.delete(keyOf(job.scope, job.id)),
    async killAll(some) {
      await Promise.all(some.map(job => job.run.kill()))
    },
    all: () => [...jobs.values()],
    close() {
      closing.abort()
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** The page's JobState. */
export function describe({ id, scope, wanted, run, keep, startedAt, endedAt }: Job, has: Has): object {
  const { exit_code = null, signal = null, timed_out = false } = run.end ?? {}
  return {
    ...{ id, scope, command: wanted.command, args: wanted.args, cwd: wanted.cwd ?? '' },
    ...{ state: endedAt === null ? 'running' : 'exited', pid: run.pid, exit_code, signal, timed_out },
    ...{ started_at: startedAt, ended_at: endedAt, kept: keep },
    ...{ stdout_bytes: run.bytes.stdout, stderr_bytes: run.bytes.stderr },
    dropped_bytes: has('drops_silently') ? 0 : run.dropped,
  }
}

function bodyOf({ command, args, cwd, env, stdin }: Wanted): string {
  return JSON.stringify([command, args, cwd, env, stdin])
}
