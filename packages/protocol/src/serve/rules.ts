/** What each command may do and when (design page "Serve protocol", the columns of its tables). */
import type { CommandType } from './commands.ts'

/**
 * `during`: while a run is in flight it is answered at once (L), acts on the run (R), ends the run first (C), or is
 * `busy` (B). `changes`: only a viewer that may drive sends it. `service`: refused or changed there. `sessionless`: a POST of
 * it starts no session. `long`: an `ack` comes first, and that and its response are numbered.
 */
export type CommandRule = {
  during: 'L' | 'R' | 'C' | 'B'
  changes: boolean
  service: 'same' | 'refused' | 'changed'
  sessionless: boolean
  long: boolean
}

const rule = (during: CommandRule['during'], more: Partial<CommandRule> = {}): CommandRule => ({
  during,
  changes: during !== 'L',
  service: 'same',
  sessionless: false,
  long: false,
  ...more,
})
const looks = rule('L')
const looksAnywhere = rule('L', { sessionless: true })
const setting = rule('B')

export const commandRules: Readonly<Record<CommandType, CommandRule>> = {
  attach: looks,
  ping: looksAnywhere,
  prompt: rule('B', { long: true }),
  steer: rule('R'),
  follow_up: rule('R'),
  unqueue: rule('R'),
  abort: rule('R'),
  abort_retry: rule('R'),
  stop_after_turn: rule('R'),
  switch_model: rule('R'),
  compact: rule('B', { long: true }),
  get_run: looks,
  get_lifecycle: looks,
  get_state: looks,
  get_messages: looks,
  get_tree: looks,
  list_branches: looks,
  switch_branch: rule('B'),
  fork: rule('C', { service: 'changed' }),
  clone: rule('C', { service: 'changed' }),
  get_fork_messages: looks,
  preview_fork: looks,
  set_label: rule('L', { changes: true }),
  get_label: looks,
  append_custom: rule('B'),
  set_session_name: rule('L', { changes: true }),
  get_last_assistant_text: looks,
  get_todos: looks,
  get_session_stats: looks,
  export_html: rule('B', { service: 'refused' }),
  list_sessions: looksAnywhere,
  list_all_sessions: looksAnywhere,
  list_daemon_sessions: looksAnywhere,
  new_session: rule('C'),
  switch_session: rule('C', { service: 'refused' }),
  delete_session: rule('B'),
  list_trash: looksAnywhere,
  restore_session: rule('B'),
  set_model: setting,
  cycle_model: setting,
  get_available_models: looksAnywhere,
  set_thinking: setting,
  set_reasoning_effort: setting,
  cycle_thinking_level: setting,
  set_auto_compaction: setting,
  set_auto_retry: setting,
  set_block_images: setting,
  set_image_auto_resize: rule('B', { service: 'refused' }),
  set_steering_mode: rule('L', { changes: true }),
  set_follow_up_mode: rule('L', { changes: true }),
  bash: rule('B', { long: true }),
  abort_bash: rule('R'),
  list_jobs: looks,
  get_job_output: looks,
  kill_job: rule('L', { changes: true }),
  set_exec_endpoint: rule('B', { service: 'refused' }),
  approve: rule('R'),
  get_commands: looks,
  reload: rule('B'),
  login: rule('B', { service: 'refused' }),
  submit_code: rule('B', { service: 'refused' }),
  abort_login: rule('B', { service: 'refused' }),
  logout: rule('B', { service: 'refused' }),
  auth_status: rule('L', { service: 'refused' }),
  set_mcp_enabled: rule('B'),
  get_mcp: looks,
  mcp_complete: rule('B'),
  elicit: rule('R'),
  sample: rule('R'),
  set_mcp_apps: rule('B'),
  mcp_app_request: rule('L', { changes: true }),
  mcp_events_list: looks,
  mcp_events_subscribe: rule('L', { changes: true }),
  mcp_events_unsubscribe: rule('L', { changes: true }),
}
