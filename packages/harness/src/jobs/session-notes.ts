/**
 * What a session's `custom` records say of its background work: numbered jobs and their ends, the sandbox it worked in, and
 * what the model was told of all that. A fold, so that any owner of the session knows the same.
 */
import type { SessionRecord } from '@beige/protocol'
import {
  bool,
  compile,
  int,
  lit,
  nullable,
  num,
  obj,
  type Static,
  str,
  union,
} from '@earendil-works/pi-schema'

export const JOB_KIND = 'beige.job'
export const NOTICE_KIND = 'beige.notice'
export const SANDBOX_KIND = 'beige.sandbox'

const open = { open: true }
const exited = obj(
  { how: lit('exited'), exit_code: nullable(int()), signal: nullable(str()), timed_out: bool() },
  open,
)
/** Nobody knows how it ended. */
const gone = obj({ how: lit('gone'), reason: str() }, open)
const jobEnd = union([exited, gone])
export type JobEnd = Static<typeof jobEnd>

const jobNumbered = obj(
  {
    event: lit('numbered'),
    number: int({ minimum: 1 }),
    id: str(),
    scope: str(),
    instance: str(),
    command: str(),
    started_at: num(),
  },
  open,
)
/** `told`: the end was the result of a call, so no notice is due. */
const jobEnded = obj(
  {
    event: lit('ended'),
    number: int({ minimum: 1 }),
    end: jobEnd,
    duration_ms: nullable(num()),
    tail: str(),
    told: bool(),
  },
  open,
)
/** `after`: the entry that the model sees it after. `key`: of what it tells; each is told once. */
const notice = obj({ key: str(), text: str(), after: nullable(str()) }, open)
const sandbox = obj({ generation: str() }, open)

const isJob = compile(union([jobNumbered, jobEnded])).check
const isNotice = compile(notice).check
const isSandbox = compile(sandbox).check

export type NumberedJob = {
  number: number
  id: string
  scope: string
  /** The instance of the endpoint that it runs on. */
  instance: string
  command: string
  startedAt: number
  ended: { end: JobEnd; durationMs: number | null; tail: string; told: boolean } | null
}
export type Notice = Static<typeof notice>

export type SessionNotes = {
  /** By number; numbers count up and are never used again. */
  jobs: ReadonlyMap<number, NumberedJob>
  notices: readonly Notice[]
  /** Of the sandbox that the session worked in last. */
  generation: string | null
  /** Sandboxes that took the place of another one. */
  replaced: readonly string[]
}

export interface NotesFold {
  apply(record: SessionRecord): void
  notes(): SessionNotes
}

export function createNotesFold(): NotesFold {
  const jobs = new Map<number, NumberedJob>()
  const notices: Notice[] = []
  const replaced: string[] = []
  let generation: string | null = null

  function job(data: Static<typeof jobNumbered> | Static<typeof jobEnded>): void {
    if (data.event === 'numbered') {
      const { number, id, scope, instance, command, started_at: startedAt } = data
      if (!jobs.has(number)) {
        jobs.set(number, { number, id, scope, instance, command, startedAt, ended: null })
      }
      return
    }
    const known = jobs.get(data.number)
    if (!known || known.ended) return
    const { end, duration_ms: durationMs, tail, told } = data
    jobs.set(data.number, { ...known, ended: { end, durationMs, tail, told } })
  }

  return {
    apply(record) {
      if (record.type !== 'custom') return
      const { kind, data } = record
      if (kind === JOB_KIND && isJob(data)) job(data)
      else if (kind === NOTICE_KIND && isNotice(data)) {
        if (!notices.some(one => one.key === data.key)) notices.push(data)
      } else if (kind === SANDBOX_KIND && isSandbox(data)) {
        if (generation !== null && generation !== data.generation) replaced.push(data.generation)
        generation = data.generation
      }
    },
    notes: () => ({ jobs, notices, generation, replaced }),
  }
}

export function runningJobs(notes: Pick<SessionNotes, 'jobs'>): NumberedJob[] {
  return [...notes.jobs.values()].filter(job => job.ended === null)
}

export function nextNumber(notes: SessionNotes): number {
  return Math.max(0, ...notes.jobs.keys()) + 1
}

export function numberedRecord(job: Omit<NumberedJob, 'ended'>) {
  const { startedAt, ...rest } = job
  const data: Static<typeof jobNumbered> = { event: 'numbered', ...rest, started_at: startedAt }
  return { type: 'custom', kind: JOB_KIND, data } as const
}

export function endedRecord(number: number, ended: NonNullable<NumberedJob['ended']>) {
  const { end, durationMs, tail, told } = ended
  const data: Static<typeof jobEnded> = { event: 'ended', number, end, duration_ms: durationMs, tail, told }
  return { type: 'custom', kind: JOB_KIND, data } as const
}

export function noticeRecord(data: Notice) {
  return { type: 'custom', kind: NOTICE_KIND, data } as const
}

export function sandboxRecord(generation: string) {
  const data: Static<typeof sandbox> = { generation }
  return { type: 'custom', kind: SANDBOX_KIND, data } as const
}
