/** One session of an editor: a viewer of ours that speaks to the editor. */
import {
  type AgentContext,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type RequestPermissionResponse,
  type StopReason,
} from '@agentclientprotocol/sdk'
import { type Connection, connect, type NewSession, type SessionHost } from '@beige/host'
import type { ApprovalRequest, Frame, FrameOf, SessionId } from '@beige/protocol'
import { promptParts, type Workspace } from './prompt-blocks.ts'
import { askedCall } from './tool-calls.ts'
import { createUpdates } from './updates.ts'

export type AcpSession = {
  prompt(request: PromptRequest): Promise<PromptResponse>
  /** Ends the run; the prompt answers `cancelled`. */
  cancel(): void
  close(): void
}

export type AcpSessionParts = {
  host: SessionHost
  id: SessionId
  /** Null: it has to be there. */
  fresh: NewSession | null
  client: AgentContext
  workspace: Workspace
  terminals: boolean
  /** Whether the past is shown. */
  showsHistory: boolean
}

const OPTIONS = [
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'session', name: 'Always allow this', kind: 'allow_always' },
  { optionId: 'deny', name: 'Reject', kind: 'reject_once' },
] as const

/** Rejects with what kept the session from being opened. */
export async function openAcpSession(parts: AcpSessionParts): Promise<AcpSession> {
  const { host, id, fresh, client, workspace, terminals, showsHistory } = parts
  const updates = createUpdates({ workspace, terminals })
  const questions = new Map<string, AbortController>()
  let nextId = 1
  let prompt: { id: string; ended: (response: FrameOf<'response'>) => void } | null = null
  let connection: Connection | null = null
  // Notifications keep the order in which they are written; what fails is a client that has gone.
  const tell = (update: ReturnType<typeof updates.ofEvent>[number]): void => {
    client.notify('session/update', { sessionId: id, update }).catch(() => {})
  }

  const take = (frame: Frame): void => {
    if (frame.type === 'event') for (const update of updates.ofEvent(frame.event)) tell(update)
    if (frame.type === 'catchup' && showsHistory)
      for (const update of updates.ofHistory(frame.data.messages)) tell(update)
    if (frame.type === 'approval_request') void ask(frame)
    if (frame.type === 'approval_resolved') questions.get(frame.request_id)?.abort()
    if (frame.type === 'response' && frame.id === prompt?.id) prompt?.ended(frame)
  }

  const ask = async (question: ApprovalRequest): Promise<void> => {
    const asked = new AbortController()
    questions.set(question.request_id, asked)
    try {
      const { outcome }: RequestPermissionResponse = await client.request(
        'session/request_permission',
        {
          sessionId: id,
          toolCall: askedCall(question, updates.call(question.call_id), workspace),
          options: [...OPTIONS],
        },
        { cancellationSignal: asked.signal },
      )
      const chosen = outcome.outcome === 'selected' ? outcome.optionId : 'deny'
      await connection?.handle({
        type: 'approve',
        request_id: question.request_id,
        decision: chosen === 'deny' ? 'deny' : 'allow',
        scope: chosen === 'session' ? 'session' : 'once',
      })
    } catch {
      // The editor can not ask, or has gone, or the question was answered elsewhere: no answer means no.
    } finally {
      questions.delete(question.request_id)
    }
  }

  connection = await connect({
    host,
    viewer: { origin: { kind: 'local' }, send: take },
    id,
    fresh,
    ask: { history: showsHistory ? 'all' : 'none' },
  })
  const opened = connection

  return {
    prompt: async request => {
      if (prompt) throw RequestError.invalidRequest(undefined, 'a prompt of this session is still running')
      const commandId = `p${nextId++}`
      const response = await new Promise<FrameOf<'response'>>(resolve => {
        prompt = { id: commandId, ended: resolve }
        void opened.handle({ type: 'prompt', id: commandId, ...promptParts(request.prompt, workspace) })
      }).finally(() => {
        prompt = null
      })
      return { stopReason: stopReasonOf(response) }
    },
    cancel: () => {
      if (prompt) void opened.handle({ type: 'abort' })
    },
    close: () => {
      for (const question of questions.values()) question.abort()
      opened.close()
    },
  }
}

/** Throws what failed, in words for a person. */
function stopReasonOf({ success, code, error, advice, data }: FrameOf<'response'>): StopReason {
  if (!success) {
    if (code === 'aborted') return 'cancelled'
    if (code === 'refused') return 'refusal'
    if (code === 'max_steps' || code === 'budget') return 'max_turn_requests'
    throw RequestError.internalError(undefined, [error, advice].filter(Boolean).join('. '))
  }
  if (data?.refused === true) return 'refusal'
  return data?.stop_reason === 'max_tokens' ? 'max_tokens' : 'end_turn'
}
