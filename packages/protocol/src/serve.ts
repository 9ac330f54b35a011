/** `serve/2`: commands into a session and frames out of it (design page "Serve protocol"). */
import {
  arr,
  bool,
  int,
  lit,
  map,
  nullable,
  num,
  obj,
  opt,
  type Static,
  str,
  union,
  unknown,
} from '@earendil-works/pi-schema'
import { agentEvent } from './events.ts'

export const SERVE_PROTOCOL = 'serve/2'

const id = { id: opt(str({ maxLength: 128 })) }
const open = { open: true }

export const promptCommand = obj(
  {
    ...id,
    type: lit('prompt'),
    message: str({ minLength: 1 }),
    images: opt(arr(obj({ media_type: str(), data: str() }))),
    idempotency_key: opt(str({ pattern: '^[A-Za-z0-9._:-]{1,128}$' })),
  },
  open,
)
export const command = union([
  promptCommand,
  obj({ ...id, type: lit('abort') }, open),
  obj({ ...id, type: lit('get_state') }, open),
  obj(
    {
      ...id,
      type: lit('get_messages'),
      since: opt(str()),
      before: opt(str()),
      limit: opt(int({ minimum: 1, maximum: 500 })),
    },
    open,
  ),
  obj({ ...id, type: lit('ping') }, open),
])
export type Command = Static<typeof command>
export type CommandType = Command['type']

const seq = { seq: int({ minimum: 0 }) }

export const frame = union([
  obj(
    {
      type: lit('ready'),
      ...seq,
      protocol: str(),
      session_id: str(),
      model: str(),
      cwd: str(),
      epoch: int(),
      run_id: nullable(str()),
      features: arr(str()),
    },
    open,
  ),
  obj({ type: lit('ack'), ...seq, ...id, command: str(), run_id: opt(str()), duplicate: opt(bool()) }, open),
  obj(
    {
      type: lit('response'),
      ...seq,
      ...id,
      command: str(),
      success: bool(),
      data: opt(map(unknown())),
      error: opt(str()),
      code: opt(str()),
      advice: opt(str()),
      warnings: opt(arr(str())),
    },
    open,
  ),
  obj({ type: lit('event'), ...seq, run_id: str(), event: agentEvent }, open),
  obj({ type: lit('error'), ...seq, session_id: opt(str()), code: str(), error: str() }, open),
])
export type Frame = Static<typeof frame>

/** `data` of the final response to `prompt`. */
export const promptResult = obj(
  {
    run_id: str(),
    steps: int(),
    stop_reason: str(),
    refused: bool(),
    text: str(),
    input_tokens: int(),
    output_tokens: int(),
    cache_read_tokens: int(),
    cache_write_tokens: int(),
    cost_usd: opt(num()),
  },
  open,
)
export type PromptResult = Static<typeof promptResult>
