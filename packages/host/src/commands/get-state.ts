/** `get_state`: what the session is and does at this moment. */
import type { LiveSession } from '../live-session.ts'

export function getState(live: LiveSession): Record<string, unknown> {
  const state = live.session.state()
  let inputTokens = 0
  let outputTokens = 0
  for (const entry of state.entries) {
    if (entry.kind !== 'message') continue
    inputTokens += entry.body.usage?.input_tokens ?? 0
    outputTokens += entry.body.usage?.output_tokens ?? 0
  }
  return {
    session_id: live.id,
    model: `${live.setup.model.provider}/${live.setup.model.id}`,
    title: state.session.title ?? null,
    cwd: state.session.cwd,
    epoch: live.session.log.epoch,
    seq: live.frames.seq,
    run_id: live.run?.id ?? null,
    message_count: live.run ? null : state.entries.length,
    is_streaming: live.run !== null,
    viewers: live.frames.attachments.size,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    damage: state.damage,
  }
}
