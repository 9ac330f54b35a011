/** `get_state`: what the session is and does at this moment. */
import type { LiveSession } from '../live-session.ts'

export function getState(live: LiveSession): Record<string, unknown> {
  const state = live.session.state()
  return {
    session_id: live.id,
    model: live.settings.modelName,
    title: titleOf(live),
    cwd: state.session.cwd,
    cwd_stale: live.setup.cwdStale ?? false,
    git_branch: null,
    session_file: null,
    epoch: live.session.log.epoch,
    seq: live.frames.seq,
    run_id: live.run?.id ?? null,
    message_count: live.run ? null : state.entries.length,
    steps: state.openRun?.steps ?? null,
    is_streaming: live.run !== null,
    is_compacting: false,
    thinking_level: live.settings.effort,
    auto_compaction: false,
    auto_retry: false,
    steering_mode: live.settings.mode('steer'),
    follow_up_mode: live.settings.mode('follow_up'),
    pending_messages: live.lanes.waiting('steer').length + live.lanes.waiting('follow_up').length,
    ...live.lanes.shown(),
    viewers: live.frames.attachments.size,
    input_tokens: state.usage.input_tokens,
    output_tokens: state.usage.output_tokens,
    damage: state.damage,
  }
}

/** The name that somebody gave it; null where nobody did. */
export function titleOf(live: LiveSession): string | null {
  const { settings, session } = live.session.state()
  const title = settings.get('title')
  return typeof title === 'string' && title !== '' ? title : (session.title ?? null)
}
