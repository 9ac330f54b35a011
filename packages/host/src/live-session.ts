/** One session that is live in this process: its log, its viewers and the run in flight. */
import {
  closeRun,
  createJobBook,
  createLanes,
  type Hands,
  type JobBook,
  type Lanes,
  type NumberedJob,
  type RunResult,
  run,
  runningJobs,
  type Session,
  sessionHands,
} from '@beige/harness'
import {
  type AgentEvent,
  CLOSE,
  type Clock,
  type EntryId,
  type FrameOf,
  isError,
  type Random,
  SERVE_PROTOCOL,
  type SessionId,
  WINDOW_AFTER_RUN_MS,
} from '@beige/protocol'
import { type Approvals, createApprovals } from './approvals.ts'
import type { MovableConnection } from './commands/handler.ts'
import { handleCommand } from './commands/index.ts'
import { goOn } from './commands/queue.ts'
import { fail } from './errors.ts'
import type { SessionHost } from './host.ts'
import { createWaker, jobEvent } from './job-news.ts'
import { createLifecycle } from './lifecycle.ts'
import { createLiveSettings, type LiveSettings } from './live-settings.ts'
import { newestMessages } from './messages.ts'
import type { SessionSetup } from './setup.ts'
import type { AttachAsk } from './viewers/attach-ask.ts'
import { createFrames, type Frames } from './viewers/frames.ts'
import { createTurnView } from './viewers/turn-view.ts'
import type { Attachment, Viewer } from './viewers/viewer.ts'

/** Whose prompt a run is that ended jobs began: it is answered to no one, and its frames go to all. */
const NOBODY: Viewer = { origin: { kind: 'job' }, send: () => {} }

export type RunInFlight = {
  id: EntryId
  kind: 'prompt' | 'bash'
  startedAt: number
  abort(reason: unknown): void
  ended: Promise<RunResult>
}

export interface LiveSession {
  readonly id: SessionId
  readonly session: Session
  readonly setup: SessionSetup
  /** That it lives in. */
  readonly host: SessionHost
  readonly frames: Frames
  readonly clock: Clock
  readonly random: Random
  readonly settings: LiveSettings
  readonly lanes: Lanes
  readonly approvals: Approvals
  readonly jobs: JobBook
  readonly hands: Hands
  /** True from when it is being given up. */
  readonly isStopping: boolean
  /** The run in flight; null when idle. */
  readonly run: RunInFlight | null
  /** No viewer, no run, nothing queued, no job that would end with it: nobody would miss it. */
  readonly isIdle: boolean
  /**
   * Adds a viewer, which first gets its `ready` frame, then what `ask` asks for (null: nothing of the past). Throws
   * `too_many_viewers`.
   */
  attach(viewer: Viewer, ask?: AttachAsk | null): Attachment
  /** Names the viewer in a frame that its command causes. */
  originOf(viewer: Viewer): { origin?: { viewer: string; name?: string } }
  /** Takes one command as it came off the wire. Answers by frames, never throws. */
  handle(command: unknown, viewer: Viewer, connection?: MovableConnection | null): Promise<void>
  /** Begins a run whose prompt is durable. */
  begin(runId: EntryId, resumed: boolean): RunInFlight
  /** Anything else of which a session has one at a time; `work` never rejects. */
  occupy(
    id: EntryId,
    kind: RunInFlight['kind'],
    work: (signal: AbortSignal) => Promise<RunResult>,
  ): RunInFlight
  /** Tells an event of the run in flight. */
  tell(runId: EntryId, event: AgentEvent): void
  /** The run in flight ends at its next boundary. */
  stopAfterTurn(): void
  /** Ends the run in flight, and each one that would begin from now on; all are recorded as aborted. */
  stop(reason: unknown): void
  /** Stops, then gives up what the set-up holds, then the ownership, and closes viewers with `code`. */
  close(reason: unknown, code?: number): Promise<void>
}

export type LiveParts = {
  host: SessionHost
  session: Session
  setup: SessionSetup
  clock: Clock
  random: Random
  /** Attached before anything happens, so that it misses nothing of a run that is gone on with. */
  viewer?: Viewer
  ask?: AttachAsk | null
  /** Called when it may have become idle, or is no longer. */
  changed?: () => void
  /** Called once when another owner has taken the session. */
  superseded?: () => void
}

export async function startLiveSession(parts: LiveParts): Promise<LiveSession> {
  const { setup, clock, random } = parts
  const session = watchedSession(parts.session, () => lifecycle.changed())
  let isLost = false
  let viewers = 0
  let turn = createTurnView()
  let forget = new AbortController() // of the window's end
  const frames = createFrames({
    epoch: session.log.epoch,
    newViewerId: () => `v${++viewers}`,
    ready: attachment => ready(live, attachment),
    catchUp: ask => catchUp(ask),
    hasAny: () => inFlight !== null || session.state().entries.length > 0,
    leaf: () => session.state().leaf,
    opening: () => {
      if (!inFlight) windowEnds()
    },
    changed: () => {
      approvals.viewersChanged()
      parts.changed?.()
    },
  })
  const seenFiles = new Map<string, string>()
  let inFlight: RunInFlight | null = null
  let systemPrompt: Promise<string> | null = null
  const stopping = new AbortController()
  const hands = sessionHands(session, setup.hands)
  const jobs = createJobBook({
    ...{ session, hands, clock, changed: jobChanged },
    ...(setup.jobs ? { settings: setup.jobs } : {}),
  })
  const waker = createWaker({
    ...{ clock, jobs, signal: stopping.signal, isIdle: () => inFlight === null },
    begin: message => void live.handle({ type: 'prompt', message }, NOBODY),
  })

  const wakeSoon = () => void (setup.onJobEnd === 'wake' && waker.soon())
  const hasJobs = () => runningJobs(session.notes()).length > 0

  function jobChanged(job: NumberedJob): void {
    const runId = inFlight?.id ?? [...session.state().runs.keys()].at(-1)
    if (runId !== undefined) frames.numbered({ type: 'event', run_id: runId, event: jobEvent(job) })
    if (!job.ended) return
    wakeSoon()
    parts.changed?.()
  }

  const settings = createLiveSettings(session, setup, changes =>
    frames.numbered({ type: 'settings_changed', settings: changes }),
  )
  let endsAfterTurn = false
  const lanes = createLanes({
    session,
    clock,
    random,
    mode: lane => settings.mode(lane),
    changed: () => frames.numbered({ type: 'queue_changed', ...lanes.shown() }),
  })

  const lifecycle = createLifecycle(session, setup.lifecycle, clock)
  const approvals = createApprovals({
    session,
    settings: setup.approve,
    clock,
    random,
    hasDriver: () => [...frames.attachments].some(one => one.viewer.role !== 'view'),
    seq: () => frames.seq,
    tell: frame => frames.numbered(frame),
    asking: (callId, isAsking) => turn.asking(callId, isAsking),
  })

  function tell(runId: EntryId, event: AgentEvent): void {
    turn.apply(event)
    frames.numbered({ type: 'event', run_id: runId, event })
  }

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
    const gate = approvals.gate(runId)
    return run(
      {
        session,
        runId,
        resumed,
        router: setup.router,
        get model() {
          return settings.model
        },
        get reasoning() {
          return settings.reasoning
        },
        get blockImages() {
          return settings.blockImages
        },
        lanes,
        stopAfterTurn: () => endsAfterTurn,
        ...(gate ? { approval: gate } : {}),
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
        emit: event => tell(runId, event),
        ...(setup.maxTokens === undefined ? {} : { maxTokens: setup.maxTokens }),
        ...(setup.maxSteps === undefined ? {} : { maxSteps: setup.maxSteps }),
      },
      signal,
    )
  }

  function occupy(
    id: EntryId,
    kind: RunInFlight['kind'],
    begun: (signal: AbortSignal) => Promise<RunResult>,
  ): RunInFlight {
    const controller = new AbortController()
    const signal = AbortSignal.any([controller.signal, stopping.signal])
    turn = createTurnView()
    forget.abort()
    const mine: RunInFlight = {
      id,
      kind,
      startedAt: startOf(session, id) ?? clock.now(),
      abort: reason => controller.abort(reason),
      // Not at once: what it tells first must find the run in flight and its viewers attached.
      ended: Promise.resolve()
        .then(() => begun(signal))
        .finally(() => {
          if (inFlight === mine) inFlight = null
          windowEnds()
          parts.changed?.()
        }),
    }
    const over = new AbortController()
    mine.ended.then(
      () => over.abort(),
      () => over.abort(),
    )
    if (kind === 'prompt')
      lifecycle.progress(
        id,
        () => ({ steps: turn.snapshot().step, tools: turn.snapshot().tools.length }),
        over.signal,
      )
    mine.ended.catch(() => {}) // whoever waits for it hears of it; a run that nobody waits for must not end the process
    inFlight = mine
    parts.changed?.()
    return mine
  }

  function catchUp(ask: AttachAsk): Omit<FrameOf<'catchup'>, 'seq'> {
    const state = session.state()
    const run = inFlight
    const since =
      ask.since !== undefined && state.entries.some(one => one.id === ask.since) ? ask.since : null
    const data =
      ask.history === 'none'
        ? { messages: [], leaf_id: state.leaf, has_more: state.entries.length > 0 }
        : newestMessages(state, since, ask.history === 'all' ? Number.POSITIVE_INFINITY : undefined)
    return {
      type: 'catchup',
      turn_in_flight: run !== null,
      data,
      run: run && {
        run_id: run.id,
        started_at: run.startedAt,
        ...turn.snapshot(),
        ...lanes.shown(),
        ...{ asks: approvals.open(), retry: null, compacting: false },
      },
    }
  }

  /** Another owner has it, or its store was out of reach for so long that another one may have. */
  function lost(): void {
    if (isLost) return
    isLost = true
    if (isError(session.log.lost.reason, 'session_superseded')) {
      frames.numbered({ type: 'session_superseded', session_id: session.log.id })
      closeViewers(CLOSE.superseded, 'another owner has the session')
    } else closeViewers(CLOSE.released, 'the store of the session is out of reach')
    stopping.abort(fail('closing'))
    parts.superseded?.()
  }

  function closeViewers(code: number, reason: string): void {
    for (const one of frames.attachments) {
      one.detach()
      one.viewer.closed?.(code, reason)
    }
  }

  function windowEnds(): void {
    const mine = new AbortController()
    forget = mine
    clock.sleep(WINDOW_AFTER_RUN_MS, mine.signal).then(
      () => frames.window.close(),
      () => {},
    )
  }

  const live: LiveSession = {
    id: session.log.id,
    session,
    setup,
    host: parts.host,
    frames,
    clock,
    random,
    settings,
    lanes,
    approvals,
    jobs,
    hands,
    get isStopping() {
      return stopping.signal.aborted
    },
    get run() {
      return inFlight
    },
    get isIdle() {
      if (inFlight !== null || frames.attachments.size > 0) return false
      return lanes.next() === null && !(setup.endsJobs && hasJobs())
    },
    attach: (viewer, ask = null) => frames.attach(viewer, ask),
    originOf: viewer => {
      const attachment = frames.attachmentOf(viewer)
      const { name } = viewer.origin
      return attachment ? { origin: { viewer: attachment.id, ...(name === undefined ? {} : { name }) } } : {}
    },
    handle: (command, viewer, connection = null) => handleCommand(live, command, viewer, connection),
    begin: (runId, resumed) => {
      endsAfterTurn = false
      const mine = occupy(runId, 'prompt', signal => work(runId, resumed, signal))
      mine.ended.then(
        result => result.outcome === 'done' && goOn(live),
        () => {},
      )
      // What ended after the run's last boundary.
      mine.ended.finally(() => wakeSoon()).catch(() => {})
      return mine
    },
    occupy,
    tell,
    stopAfterTurn: () => {
      endsAfterTurn = inFlight !== null
    },
    stop: reason => stopping.abort(reason),
    close: async (reason, code = CLOSE.stopping) => {
      stopping.abort(reason)
      await inFlight?.ended.catch(() => {})
      forget.abort()
      closeViewers(code, 'the session is released here')
      await jobs.close()
      await lifecycle.close()
      setup.router.release(session.log.id)
      try {
        await setup.close?.() // before the next owner may come and find it in use
      } finally {
        await session.log.close()
      }
    },
  }

  session.log.lost.addEventListener('abort', lost, { once: true })
  const open = session.state().openRun
  if (open && setup.openRun === 'close') await closeRun(session, open.id)
  else if (open) live.begin(open.id, true)
  if (parts.viewer) live.attach(parts.viewer, parts.ask ?? null)
  void jobs.watch(stopping.signal).catch(() => {}) // what fails here fails again at the next boundary
  return live
}

const TOLD: readonly string[] = ['prompt', 'run_end', 'setting']

/** The same session, which says when something is recorded that its watchers are told of. */
function watchedSession(session: Session, appended: () => void): Session {
  return {
    log: session.log,
    state: () => session.state(),
    notes: () => session.notes(),
    append: async (...bodies) => {
      const records = await session.append(...bodies)
      if (bodies.some(body => TOLD.includes(body.type))) appended()
      return records
    },
  }
}

function startOf(session: Session, runId: EntryId): number | null {
  const seq = session.state().runs.get(runId)?.promptSeq
  return session.log.records.findLast(record => record.seq === seq)?.at ?? null
}

function ready(live: LiveSession, { id, viewer }: Attachment): Omit<FrameOf<'ready'>, 'seq'> {
  const { cwdStale = false } = live.setup
  return {
    type: 'ready',
    protocol: SERVE_PROTOCOL,
    session_id: live.id,
    model: live.settings.modelName,
    cwd: live.session.state().session.cwd,
    cwd_stale: cwdStale,
    epoch: live.session.log.epoch,
    viewer: id,
    role: viewer.role ?? 'drive',
    run_id: live.run?.id ?? null,
    features: [],
  }
}
