/** One session that is live in this process: its log, its viewers and the run in flight. */
import { closeRun, createJobBook, type RunResult, run, type Session, sessionHands } from '@beige/harness'
import type { Clock, EntryId, Frame, Random, SessionId } from '@beige/protocol'
import { SERVE_PROTOCOL } from '@beige/protocol'
import { handleCommand } from './commands/index.ts'
import { createFrames, type Frames, type Viewer } from './frames.ts'
import type { SessionSetup } from './setup.ts'

export type RunInFlight = { id: EntryId; abort(reason: unknown): void; ended: Promise<RunResult> }

export interface LiveSession {
  readonly id: SessionId
  readonly session: Session
  readonly setup: SessionSetup
  readonly frames: Frames
  readonly clock: Clock
  readonly random: Random
  /** The run in flight; null when idle. */
  readonly run: RunInFlight | null
  /** Adds a viewer, which first gets its `ready` frame. The answer takes it away again; nothing else changes by that. */
  attach(viewer: Viewer): () => void
  /** Takes one command as it came off the wire. Answers by frames, never throws. */
  handle(command: unknown, viewer: Viewer): Promise<void>
  /** Begins a run whose prompt is durable. */
  begin(runId: EntryId, resumed: boolean): RunInFlight
  /** Ends the run in flight, and each one that would begin from now on; all are recorded as aborted. */
  stop(reason: unknown): void
  /** Stops, then gives up what the set-up holds, then the ownership. */
  close(reason: unknown): Promise<void>
}

export type LiveParts = {
  session: Session
  setup: SessionSetup
  clock: Clock
  random: Random
  /** Attached before anything happens, so that it misses nothing of a run that is gone on with. */
  viewer?: Viewer
}

export async function startLiveSession(parts: LiveParts): Promise<LiveSession> {
  const { session, setup, clock, random } = parts
  const frames = createFrames(session.log.epoch)
  const seenFiles = new Map<string, string>()
  let inFlight: RunInFlight | null = null
  let systemPrompt: Promise<string> | null = null
  const stopping = new AbortController()
  const hands = sessionHands(session, setup.hands)
  const jobs = createJobBook({ session, hands, clock, ...(setup.jobs ? { settings: setup.jobs } : {}) })

  async function systemPromptOnce(signal: AbortSignal): Promise<string> {
    systemPrompt ??= setup.systemPrompt(signal, hands)
    try {
      return await systemPrompt
    } catch (error) {
      systemPrompt = null // what failed for this run may work for the next
      throw error
    }
  }

  function work(runId: EntryId, resumed: boolean, signal: AbortSignal): Promise<RunResult> {
    return run(
      {
        session,
        runId,
        resumed,
        router: setup.router,
        model: setup.model,
        systemPrompt: systemPromptOnce,
        tools: setup.tools,
        pipeline: setup.pipeline,
        hands,
        jobs,
        get cwd() {
          return setup.workdir // at each call: an endpoint elsewhere says it when it is opened
        },
        seenFiles,
        callEnv: setup.callEnv,
        clock,
        random,
        emit: event => frames.numbered({ type: 'event', run_id: runId, event }),
        ...(setup.reasoning === undefined ? {} : { reasoning: setup.reasoning }),
        ...(setup.maxTokens === undefined ? {} : { maxTokens: setup.maxTokens }),
        ...(setup.maxSteps === undefined ? {} : { maxSteps: setup.maxSteps }),
      },
      signal,
    )
  }

  const live: LiveSession = {
    id: session.log.id,
    session,
    setup,
    frames,
    clock,
    random,
    get run() {
      return inFlight
    },
    attach: viewer => {
      const detach = frames.attach(viewer)
      frames.private(viewer, ready(live))
      return detach
    },
    handle: (command, viewer) => handleCommand(live, command, viewer),
    begin: (runId, resumed) => {
      const controller = new AbortController()
      const signal = AbortSignal.any([controller.signal, stopping.signal])
      const mine: RunInFlight = {
        id: runId,
        abort: reason => controller.abort(reason),
        // Not at once: what it tells first must find the run in flight and its viewers attached.
        ended: Promise.resolve()
          .then(() => work(runId, resumed, signal))
          .finally(() => {
            if (inFlight === mine) inFlight = null
          }),
      }
      mine.ended.catch(() => {}) // whoever waits for it hears of it; a run that nobody waits for must not end the process
      inFlight = mine
      return mine
    },
    stop: reason => stopping.abort(reason),
    close: async reason => {
      stopping.abort(reason)
      await inFlight?.ended.catch(() => {})
      await jobs.close()
      setup.router.release(session.log.id)
      try {
        await setup.close?.() // before the next owner may come and find it in use
      } finally {
        await session.log.close()
      }
    },
  }

  const open = session.state().openRun
  if (open && setup.openRun === 'close') await closeRun(session, open.id)
  else if (open) live.begin(open.id, true)
  if (parts.viewer) live.attach(parts.viewer)
  return live
}

function ready(live: LiveSession): Omit<Extract<Frame, { type: 'ready' }>, 'seq'> {
  return {
    type: 'ready',
    protocol: SERVE_PROTOCOL,
    session_id: live.id,
    model: `${live.setup.model.provider}/${live.setup.model.id}`,
    cwd: live.session.state().session.cwd,
    epoch: live.session.log.epoch,
    run_id: live.run?.id ?? null,
    features: [],
  }
}
