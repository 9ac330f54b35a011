/** Numbers of `serve/2` (design page "Serve protocol", Limits and times). */
export const SERVE_PROTOCOL = 'serve/2'
/** `seq = epoch * EPOCH_STEP + n` */
export const EPOCH_STEP = 2 ** 32

export const MAX_HEADER_BYTES = 16_384
/** A line on stdio, a message of a WebSocket, the body of a POST. */
export const MAX_COMMAND_BYTES = 8_388_608
export const MAX_JSON_DEPTH = 64
export const MAX_IMAGES = 20
export const MAX_LANE_MESSAGES = 32
export const MAX_LANE_BYTES = 1_048_576
export const MAX_CONNECTIONS = 1024
export const MAX_VIEWERS = 64 // of one session
export const WINDOW_FRAMES = 4096
export const WINDOW_BYTES = 1_048_576
export const WINDOW_AFTER_RUN_MS = 60_000
/** A viewer that has not taken this much is written to no more, until less than `RESUME_BYTES` are left. */
export const PAUSE_BYTES = 1_048_576
export const RESUME_BYTES = 262_144
export const CATCHUP_TAIL_BYTES = 1_048_576
export const HEARTBEAT_MS = 15_000
export const PING_MS = 30_000
export const SILENCE_MS = 75_000
export const POST_ANSWER_MS = 30_000
export const STOPPING_WAIT_MS = 10_000
export const MAX_WAIT_MS = 25_000
export const PREVIEW_BYTES = 65_536
export const LIST_LIMIT = 50
export const MAX_LIST_LIMIT = 500

/** Why a WebSocket is closed. */
export const CLOSE = {
  done: 1000,
  stopping: 1001,
  binary: 1003,
  badText: 1007,
  policy: 1008,
  tooBig: 1009,
  failed: 1011,
  released: 1012,
  later: 1013,
  tokenRemoved: 4401,
  deleted: 4404,
  silent: 4408,
  superseded: 4409,
} as const

export const SERVE_CODES = [
  'bad_request',
  'unknown_command',
  'unknown_id',
  'not_found',
  'busy',
  'conflict',
  'queue_full',
  'forbidden',
  'unsupported',
  'no_route',
  'model',
  'refused',
  'blocked',
  'aborted',
  'stuck',
  'max_steps',
  'budget',
  'context_impossible',
  'timeout',
  'too_large',
  'exec',
  'storage',
  'superseded',
  'unavailable',
  'internal',
] as const
export type ServeCode = (typeof SERVE_CODES)[number]
