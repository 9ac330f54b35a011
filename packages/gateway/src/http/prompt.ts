/** A prompt over HTTP: into the session of its key, answered whole or as the frames of the serve protocol, one a line. */
import { randomBytes } from 'node:crypto'
import type { Viewer } from '@beige/host'
import type { Frame } from '@beige/protocol'
import type { Agent } from '../agents/agent.ts'
import type { SessionKeys } from '../agents/session-keys.ts'
import { fail } from '../errors.ts'
import { answerJson, answerLines } from './answers.ts'
import type { Exchange } from './routes.ts'

export type PromptBody = { message: string; sessionKey?: string; stream?: boolean; idempotency_key?: string }

/** Of frames that a client does not read; then it is dropped. */
const MAX_UNREAD_BYTES = 8_388_608

export async function promptAgent(parts: {
  agent: Agent
  keys: SessionKeys
  body: PromptBody
  exchange: Exchange
}): Promise<void> {
  const { agent, body, exchange } = parts
  const { response, principal } = exchange
  const sandbox = agent.sandbox.state()
  if (sandbox.state === 'unavailable' || sandbox.state === 'closed') {
    const reason =
      principal.tokenId === null && sandbox.state === 'unavailable'
        ? sandbox.reason
        : 'its sandbox is not ready'
    throw fail('agent_unavailable', { agent: agent.name, reason })
  }
  const key = body.sessionKey ?? `api:${agent.name}:default`
  const id = parts.keys.idOf(agent.name, key)
  const model = `${agent.config.model.provider}/${agent.config.model.model}`
  const live = await agent.host.session(id, {
    cwd: agent.workdir,
    model,
    meta: { agent: agent.name, key, channel: 'api' },
  })

  const commandId = randomBytes(8).toString('hex')
  const frames = answerTo(commandId)
  const write = body.stream === true ? answerLines(response) : null
  let isGone = false
  // Whoever left a key can come back for the answer. Without one nobody could have it: the run is ended.
  const endIfGone = () => {
    if (isGone && body.idempotency_key === undefined && live.run?.id === frames.runId())
      live.run?.abort(new DOMException('its caller went away', 'AbortError'))
  }
  const viewer: Viewer = {
    origin: { kind: 'api', name: principal.name },
    send(frame) {
      frames.take(frame)
      endIfGone()
      if (write === null || response.destroyed) return
      if (response.writableLength > MAX_UNREAD_BYTES) response.destroy()
      else write(frame)
    },
  }
  const { detach } = live.attach(viewer)
  response.once('close', () => {
    isGone = !response.writableFinished
    endIfGone()
  })
  try {
    await live.handle(
      {
        type: 'prompt',
        id: commandId,
        message: body.message,
        ...(body.idempotency_key === undefined ? {} : { idempotency_key: body.idempotency_key }),
      },
      viewer,
    )
  } finally {
    detach()
  }
  if (write !== null) {
    response.end()
    return
  }
  const answer = frames.answer()
  if (answer === null) throw fail('unavailable')
  const { data } = answer
  if (answer.success) answerJson(response, 200, { response: data?.text ?? '', run: data })
  else {
    const status = answer.code === 'busy' || answer.code === 'conflict' ? 409 : 502
    const error = { code: answer.code, message: answer.error, advice: answer.advice }
    answerJson(response, status, { error, ...(data === undefined ? {} : { run: data }) })
  }
}

/** Keeps the response to one command out of the frames that a viewer sees. */
function answerTo(commandId: string) {
  let answer: Extract<Frame, { type: 'response' }> | null = null
  let runId: string | null = null
  return {
    take(frame: Frame) {
      if (frame.type === 'ack' && frame.id === commandId) runId = frame.run_id ?? null
      if (frame.type === 'response' && frame.id === commandId) answer = frame
    },
    /** The run that the command began; null before its ack. */
    runId: (): string | null => runId,
    answer: (): Extract<Frame, { type: 'response' }> | null => answer,
  }
}
