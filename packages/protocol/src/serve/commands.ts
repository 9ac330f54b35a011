/** The commands of `serve/2`: one schema each, by name. Fields that are not in it are ignored and named in a warning. */
import {
  arr,
  bool,
  int,
  lit,
  nullable,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  union,
  unknown,
} from '@earendil-works/pi-schema'
import { MAX_IMAGES, MAX_WAIT_MS } from './limits.ts'

const open = { open: true }
const id = { id: opt(str({ maxLength: 128 })) }
const key = { idempotency_key: opt(str({ pattern: '^[A-Za-z0-9._:-]{1,128}$' })) }
const treeId = str({ minLength: 1, maxLength: 128 })
const sessionId = str({ minLength: 1, maxLength: 128 })
const named = str({ minLength: 1, maxLength: 256 })
const wait = { wait_ms: opt(int({ minimum: 0, maximum: MAX_WAIT_MS })) }
const page = {
  query: opt(str({ maxLength: 256 })),
  limit: opt(int({ minimum: 1 })),
  offset: opt(int({ minimum: 0 })),
}
const laneMode = oneOf(['one_at_a_time', 'all'])
export const effort = oneOf(['off', 'minimal', 'low', 'medium', 'high', 'xhigh'])
const enabled = { enabled: bool() }

/** `data` is base64 of the image's bytes. */
export const imageInput = obj({ media_type: str(), data: str() }, open)
const message = { message: str({ minLength: 1 }), images: opt(arr(imageInput, { maxItems: MAX_IMAGES })) }

/** What `attach` asks for, on the command and in the query of a URL. */
export const attachFields = {
  after: opt(int({ minimum: 0 })),
  since: opt(treeId),
  history: opt(oneOf(['tail', 'all', 'none'])),
}

export const promptCommand = obj(
  {
    ...id,
    type: lit('prompt'),
    ...message,
    streaming_behavior: opt(oneOf(['steer', 'follow_up'])),
    output_schema: opt(unknown()),
    output_description: opt(str()),
    ...key,
  },
  open,
)

/** `upto`: so many messages of the current branch; else the entry that it ends at. */
const forkPlace = { upto: opt(int({ minimum: 0 })), target_id: opt(treeId), before: opt(bool()) }

export const commandSchemas = {
  // connection
  attach: obj({ ...id, type: lit('attach'), ...attachFields }, open),
  ping: obj({ ...id, type: lit('ping') }, open),
  // run
  prompt: promptCommand,
  steer: obj({ ...id, type: lit('steer'), ...message, ...key }, open),
  follow_up: obj({ ...id, type: lit('follow_up'), ...message, ...key }, open),
  unqueue: obj({ ...id, type: lit('unqueue'), queue_id: treeId }, open),
  abort: obj({ ...id, type: lit('abort') }, open),
  abort_retry: obj({ ...id, type: lit('abort_retry') }, open),
  stop_after_turn: obj({ ...id, type: lit('stop_after_turn') }, open),
  switch_model: obj({ ...id, type: lit('switch_model'), model: named, thinking: opt(nullable(int())) }, open),
  compact: obj({ ...id, type: lit('compact'), custom_instructions: opt(str()) }, open),
  get_run: obj(
    { ...id, type: lit('get_run'), run_id: opt(treeId), idempotency_key: key.idempotency_key, ...wait },
    open,
  ),
  get_lifecycle: obj(
    {
      ...id,
      type: lit('get_lifecycle'),
      after: opt(int({ minimum: 0 })),
      limit: opt(int({ minimum: 1, maximum: 500 })),
    },
    open,
  ),
  // state and history
  get_state: obj({ ...id, type: lit('get_state') }, open),
  get_messages: obj(
    {
      ...id,
      type: lit('get_messages'),
      since: opt(treeId),
      before: opt(treeId),
      limit: opt(int({ minimum: 1, maximum: 500 })),
    },
    open,
  ),
  get_tree: obj({ ...id, type: lit('get_tree'), since: opt(treeId) }, open),
  list_branches: obj({ ...id, type: lit('list_branches') }, open),
  switch_branch: obj(
    {
      ...id,
      type: lit('switch_branch'),
      target_id: treeId,
      before: opt(bool()),
      summarize: opt(bool()),
      custom_instructions: opt(str()),
      replace_instructions: opt(bool()),
    },
    open,
  ),
  fork: obj({ ...id, type: lit('fork'), ...forkPlace, ...key }, open),
  clone: obj({ ...id, type: lit('clone') }, open),
  get_fork_messages: obj({ ...id, type: lit('get_fork_messages') }, open),
  preview_fork: obj({ ...id, type: lit('preview_fork'), session_id: opt(sessionId), ...forkPlace }, open),
  set_label: obj(
    { ...id, type: lit('set_label'), target_id: treeId, label: opt(str({ maxLength: 256 })) },
    open,
  ),
  get_label: obj({ ...id, type: lit('get_label'), target_id: treeId }, open),
  append_custom: obj({ ...id, type: lit('append_custom'), kind: named, data: opt(unknown()) }, open),
  set_session_name: obj({ ...id, type: lit('set_session_name'), title: str({ maxLength: 1024 }) }, open),
  get_last_assistant_text: obj({ ...id, type: lit('get_last_assistant_text') }, open),
  get_todos: obj({ ...id, type: lit('get_todos') }, open),
  get_session_stats: obj({ ...id, type: lit('get_session_stats') }, open),
  export_html: obj({ ...id, type: lit('export_html'), output_path: opt(str({ minLength: 1 })) }, open),
  // sessions
  list_sessions: obj({ ...id, type: lit('list_sessions'), ...page }, open),
  list_all_sessions: obj({ ...id, type: lit('list_all_sessions'), ...page }, open),
  list_daemon_sessions: obj({ ...id, type: lit('list_daemon_sessions') }, open),
  new_session: obj({ ...id, type: lit('new_session'), parent_session: opt(sessionId) }, open),
  switch_session: obj({ ...id, type: lit('switch_session'), session_id: sessionId }, open),
  delete_session: obj({ ...id, type: lit('delete_session'), session_id: sessionId }, open),
  list_trash: obj({ ...id, type: lit('list_trash') }, open),
  restore_session: obj({ ...id, type: lit('restore_session'), session_id: sessionId }, open),
  // model and settings
  set_model: obj({ ...id, type: lit('set_model'), model: named }, open),
  cycle_model: obj({ ...id, type: lit('cycle_model') }, open),
  get_available_models: obj({ ...id, type: lit('get_available_models') }, open),
  set_thinking: obj({ ...id, type: lit('set_thinking'), budget: nullable(int({ minimum: 0 })) }, open),
  set_reasoning_effort: obj({ ...id, type: lit('set_reasoning_effort'), effort }, open),
  cycle_thinking_level: obj({ ...id, type: lit('cycle_thinking_level') }, open),
  set_auto_compaction: obj({ ...id, type: lit('set_auto_compaction'), ...enabled }, open),
  set_auto_retry: obj({ ...id, type: lit('set_auto_retry'), ...enabled }, open),
  set_block_images: obj({ ...id, type: lit('set_block_images'), ...enabled }, open),
  set_image_auto_resize: obj({ ...id, type: lit('set_image_auto_resize'), ...enabled }, open),
  set_steering_mode: obj({ ...id, type: lit('set_steering_mode'), mode: laneMode }, open),
  set_follow_up_mode: obj({ ...id, type: lit('set_follow_up_mode'), mode: laneMode }, open),
  // tools, jobs, resources
  bash: obj(
    {
      ...id,
      type: lit('bash'),
      command: str({ minLength: 1 }),
      cwd: opt(str({ minLength: 1 })),
      timeout_ms: opt(int({ minimum: 1 })),
      exclude_from_context: opt(bool()),
      ...key,
    },
    open,
  ),
  abort_bash: obj({ ...id, type: lit('abort_bash') }, open),
  list_jobs: obj({ ...id, type: lit('list_jobs') }, open),
  get_job_output: obj(
    {
      ...id,
      type: lit('get_job_output'),
      job: int({ minimum: 1 }),
      offset: opt(int({ minimum: 0 })),
      limit: opt(int({ minimum: 1, maximum: 1_048_576 })),
      ...wait,
    },
    open,
  ),
  kill_job: obj({ ...id, type: lit('kill_job'), job: int({ minimum: 1 }) }, open),
  set_exec_endpoint: obj(
    { ...id, type: lit('set_exec_endpoint'), url: opt(str({ minLength: 1 })), headers: opt(arr(str())) },
    open,
  ),
  approve: obj(
    {
      ...id,
      type: lit('approve'),
      request_id: treeId,
      decision: oneOf(['allow', 'deny']),
      scope: opt(oneOf(['once', 'session'])),
      reason: opt(str({ maxLength: 4000 })),
    },
    open,
  ),
  get_commands: obj({ ...id, type: lit('get_commands') }, open),
  reload: obj({ ...id, type: lit('reload') }, open),
  // logins and MCP
  login: obj({ ...id, type: lit('login'), provider: named }, open),
  submit_code: obj({ ...id, type: lit('submit_code'), code: str({ minLength: 1 }) }, open),
  abort_login: obj({ ...id, type: lit('abort_login') }, open),
  logout: obj({ ...id, type: lit('logout'), provider: named }, open),
  auth_status: obj({ ...id, type: lit('auth_status'), provider: opt(named) }, open),
  set_mcp_enabled: obj({ ...id, type: lit('set_mcp_enabled'), servers: opt(nullable(arr(named))) }, open),
  get_mcp: obj({ ...id, type: lit('get_mcp') }, open),
  mcp_complete: obj(
    { ...id, type: lit('mcp_complete'), server: named, ref: unknown(), argument: unknown() },
    open,
  ),
  elicit: obj(
    {
      ...id,
      type: lit('elicit'),
      request_id: treeId,
      action: oneOf(['accept', 'decline', 'cancel']),
      content: opt(unknown()),
    },
    open,
  ),
  sample: obj(
    {
      ...id,
      type: lit('sample'),
      request_id: treeId,
      result: opt(unknown()),
      action: opt(lit('decline')),
    },
    open,
  ),
  set_mcp_apps: obj({ ...id, type: lit('set_mcp_apps'), ...enabled, mime_types: opt(arr(str())) }, open),
  mcp_app_request: obj(
    {
      ...id,
      type: lit('mcp_app_request'),
      server: named,
      app_id: treeId,
      request: obj({ method: str(), params: opt(unknown()) }, open),
    },
    open,
  ),
  mcp_events_list: obj({ ...id, type: lit('mcp_events_list'), server: opt(named) }, open),
  mcp_events_subscribe: obj(
    {
      ...id,
      type: lit('mcp_events_subscribe'),
      server: named,
      name: named,
      arguments: opt(unknown()),
      delivery: opt(str()),
      action: opt(str()),
      instructions: opt(str()),
    },
    open,
  ),
  mcp_events_unsubscribe: obj(
    { ...id, type: lit('mcp_events_unsubscribe'), server: named, name: named },
    open,
  ),
} as const

export type CommandType = keyof typeof commandSchemas
export type CommandOf<T extends CommandType> = Static<(typeof commandSchemas)[T]>
export type Command = { [T in CommandType]: CommandOf<T> }[CommandType]

const isType = (name: string): name is CommandType => Object.hasOwn(commandSchemas, name)
/** Every command's name, in the order of the page. */
export const COMMAND_TYPES: readonly CommandType[] = Object.keys(commandSchemas).filter(isType)

export function isCommandType(name: string): name is CommandType {
  return isType(name)
}

/** Any command. */
export const command = union(Object.values(commandSchemas))
