/** Every command that this host knows how to carry out; the rest of the protocol answers `unsupported` by name. */
import { COMMAND_TYPES, type CommandType } from '@beige/protocol'
import { lifecycleEvents } from '../lifecycle.ts'
import { abort } from './abort.ts'
import { attach } from './attach.ts'
import { abortBash, bash } from './bash.ts'
import { getMessages } from './get-messages.ts'
import { getState } from './get-state.ts'
import type { HandlerTable } from './handler.ts'
import * as history from './history.ts'
import { jobOutput, killJob, listJobs } from './jobs.ts'
import { prompt } from './prompt.ts'
import { followUp, steer, unqueue } from './queue.ts'
import * as sessions from './sessions.ts'
import * as settings from './settings.ts'

export const handlers: HandlerTable = {
  attach,
  ping: (_command, { live }) => ({ now: live.clock.now() }),
  prompt,
  steer,
  follow_up: followUp,
  unqueue,
  abort: async (_command, { live }) => {
    await abort(live)
    return {}
  },
  stop_after_turn: (_command, { live }) => {
    live.stopAfterTurn()
    return {}
  },
  bash,
  abort_bash: abortBash,
  list_jobs: listJobs,
  get_job_output: jobOutput,
  kill_job: killJob,
  approve: (command, { live, viewer }) => ({
    accepted: live.approvals.answer(command, viewer.origin.name ?? viewer.origin.kind),
  }),
  switch_model: settings.switchModel,
  get_run: history.getRun,
  get_lifecycle: ({ after = 0, limit = 100 }, { live }) => {
    const events = lifecycleEvents(live.session).filter(event => event.n > after)
    const page = events.slice(0, limit)
    return { events: page, next: page.at(-1)?.n ?? after, has_more: events.length > page.length }
  },
  get_state: (_command, { live }) => getState(live),
  get_messages: (command, { live }) => getMessages(live, command),
  get_tree: history.getTree,
  list_branches: history.branches,
  switch_branch: history.switchBranch,
  fork: sessions.fork,
  clone: sessions.clone,
  get_fork_messages: history.forkMessages,
  preview_fork: history.previewFork,
  set_label: history.setLabel,
  get_label: history.getLabel,
  append_custom: history.appendCustom,
  set_session_name: history.setName,
  get_last_assistant_text: history.lastText,
  get_todos: history.todos,
  get_session_stats: history.stats,
  list_sessions: sessions.list,
  list_all_sessions: sessions.listAll,
  list_daemon_sessions: sessions.listDaemon,
  new_session: sessions.fresh,
  switch_session: sessions.switchTo,
  delete_session: sessions.remove,
  list_trash: sessions.trash,
  restore_session: sessions.restore,
  set_model: settings.setModel,
  cycle_model: settings.cycleModel,
  get_available_models: settings.models,
  set_reasoning_effort: settings.setEffort,
  cycle_thinking_level: settings.cycleThinking,
  set_block_images: settings.setBlockImages,
  set_steering_mode: settings.setSteeringMode,
  set_follow_up_mode: settings.setFollowUpMode,
}

/** What has no capability behind it yet. */
export const UNSUPPORTED: readonly CommandType[] = COMMAND_TYPES.filter(type => handlers[type] === undefined)
