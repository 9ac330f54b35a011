/** What a host needs to know to run turns of one session; made by whoever starts the host. */
import type { Hands, JobSettings, Pipeline, RunParts, Session, Tool } from '@beige/harness'
import type { ModelRouter } from '@beige/models'
import type { CallId, EntryId } from '@beige/protocol'
import type { ApproveSettings } from './approvals.ts'
import type { LifecycleSink } from './lifecycle.ts'
import type { Effort } from './live-settings.ts'

export type SessionSetup = {
  router: ModelRouter
  model: RunParts['model']
  /** Where the session's log says nothing of it. */
  reasoning?: RunParts['reasoning']
  /** How much it thinks, whatever the log says, until somebody sets it here. */
  effort?: Effort
  maxTokens?: number
  maxSteps?: number
  /** What the model is offered. */
  tools: readonly Tool[]
  pipeline: Pipeline
  hands: Hands
  /** Absolute folder inside the sandbox; right from when the system prompt was made. */
  workdir: string
  /** True where the session began in another directory than the one that it works in now. */
  cwdStale?: boolean
  /**
   * Made once, before the first request of this process; stable for the session's prompt cache. A rejection fails the run.
   * What it reads in the sandbox it reads by the session's own `hands`.
   */
  systemPrompt: (signal: AbortSignal, hands: Hands) => Promise<string>
  /** The moving facts that go with a prompt and are stored in its record. */
  promptContext?: (signal: AbortSignal) => Promise<string | undefined>
  /** How long commands may be silent or run, and whether they outlive this process. */
  jobs?: Partial<JobSettings>
  /** A job's end that comes while no run is there: told at the next run (`note`, the default), or it begins one. */
  onJobEnd?: 'note' | 'wake'
  callEnv: (callId: CallId, runId: EntryId) => Readonly<Record<string, string>>
  /** Which calls a person is asked about. Absent: none. */
  approve?: ApproveSettings
  /** Who is told what became of runs. Absent: nobody; the log has it all the same. */
  lifecycle?: LifecycleSink
  /** What happens to a run that another owner left open: gone on with, or closed before the next prompt. */
  openRun: 'resume' | 'close'
  /** True where `close` ends jobs that run: the session is not given up for being idle while one does. */
  endsJobs?: boolean
  /** Ends what the session has beside its log, e.g. its sandbox. Called once, while it is still owned. */
  close?: () => Promise<void>
}

/** Called once for each session that becomes live here. */
export type MakeSetup = (session: Session) => Promise<SessionSetup>
