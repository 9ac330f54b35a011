/**
 * `POST /_beyond/exec-notify`: a sandbox reports that a kept job has ended. Without any transport: whoever serves HTTP hands
 * in what came and sends what is answered. Told at least once by the sandbox, it is in the log exactly once.
 *
 * @example
 * const notify = createExecNotify({ host, keys: [key], keep: (id, state) => keepInLog(host.store, id, state), clock })
 * const { status, owner } = await notify({ sessionId, authorization, body: JSON.parse(text) })
 */
import { type Clock, type ExecJobState, execJobState, isSessionId, type SessionId } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import type { SessionHost } from '../host.ts'
import type { Kept } from './keep-in-log.ts'
import { openNotifyToken } from './notify-token.ts'

export const EXEC_NOTIFY_PATH = '/_beyond/exec-notify'
const TELL_MS = 9_000 // the sandbox waits 10 s for an answer

export type ExecNotifyRequest = {
  /** The query's `session_id`. */
  sessionId: string | null
  /** The header as it came. */
  authorization: string | undefined
  /** The JSON of the body. */
  body: unknown
}

/**
 * 202: delivered or kept, 400: no job's end, 401: no token of ours, 410: the session is deleted, 503: try again, where it is
 * known with the `owner` whose process has the session.
 */
export type ExecNotifyAnswer = {
  status: 202 | 400 | 401 | 410 | 503
  outcome: 'live' | 'kept' | 'refused'
  owner?: string
}

export type ExecNotifyParts = {
  host: Pick<SessionHost, 'live'>
  /** The newest first; each of them is good. */
  keys: readonly Uint8Array[]
  /** What becomes of it where the session is not live in this process. */
  keep: (id: SessionId, state: ExecJobState) => Promise<Kept>
  clock: Clock
}

export type ExecNotify = (request: ExecNotifyRequest) => Promise<ExecNotifyAnswer>

const isJobState = compile(execJobState).check

/** Its answer never rejects. */
export function createExecNotify({ host, keys, keep, clock }: ExecNotifyParts): ExecNotify {
  return async ({ sessionId, authorization, body }) => {
    const [, token = ''] = /^Bearer ([^\s]+)$/i.exec(authorization ?? '') ?? []
    const claims = openNotifyToken(token, keys, clock.now())
    const id = claims?.session_id
    if (!claims || id !== sessionId || !isSessionId(id)) return refused(401)
    if (!isJobState(body) || body.state !== 'exited') return refused(400)
    if (body.scope !== claims.scope) return refused(401)
    try {
      const live = host.live().find(one => one.id === id)
      if (live) {
        await live.jobs.reported(body, AbortSignal.timeout(TELL_MS))
        return { status: 202, outcome: 'live' }
      }
      const kept = await keep(id, body)
      if (kept.how === 'kept') return { status: 202, outcome: 'kept' }
      if (kept.how === 'deleted') return refused(410)
      return { ...refused(503), ...(kept.owner === null ? {} : { owner: kept.owner }) }
    } catch {
      return refused(503) // nothing was written down, so the sandbox has to say it again
    }
  }
}

const refused = (status: 400 | 401 | 410 | 503): ExecNotifyAnswer => ({ status, outcome: 'refused' })
