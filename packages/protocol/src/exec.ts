/**
 * `exec/2`: the contract between an agent and the place where its tools run (design page "Exec protocol").
 * Requests are checked by the endpoint; answers are checked by our client, since an endpoint is an outside.
 */
import {
  arr,
  bool,
  int,
  lit,
  map,
  nullable,
  num,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  union,
} from '@earendil-works/pi-schema'

export const EXEC_PROTOCOL = 'exec/2'

export const execJob = obj({
  id: str({ pattern: '^[A-Za-z0-9._-]{1,128}$' }),
  scope: str({ minLength: 1, maxLength: 128 }),
  instance: opt(str()),
  keep: opt(bool()),
  notify: opt(obj({ url: str(), token: str() })),
  ttl_s: opt(int({ minimum: 1 })),
})

export const execRequest = obj({
  command: str({ minLength: 1 }),
  args: opt(arr(str())),
  cwd: opt(str()),
  env: opt(map(nullable(str()))),
  /** base64 */
  stdin: opt(str()),
  stdin_open: opt(bool()),
  timeout_ms: opt(int({ minimum: 1, maximum: 2_147_483_647 })),
  stream: opt(bool()),
  job: opt(execJob),
})
export type ExecRequest = Static<typeof execRequest>

export const execErrorCode = oneOf([
  'unauthorized',
  'bad_request',
  'not_found',
  'conflict',
  'gone',
  'too_large',
  'limit',
  'internal',
])
export type ExecErrorCode = Static<typeof execErrorCode>
export const execErrorBody = obj(
  { error: obj({ code: execErrorCode, message: str() }, { open: true }) },
  { open: true },
)

const end = {
  exit_code: nullable(int()),
  signal: nullable(str()),
  timed_out: bool(),
  held_pipes: opt(bool()),
}

/** One-shot answer; `stdout` and `stderr` are base64. */
export const execAnswer = obj({ ...end, stdout: str(), stderr: str() }, { open: true })
export type ExecAnswer = Static<typeof execAnswer>

export const execFrame = union([
  obj({ type: lit('start'), job: str(), pid: int() }, { open: true }),
  obj({ type: lit('stdout'), offset: int({ minimum: 0 }), data: str() }, { open: true }),
  obj({ type: lit('stderr'), offset: int({ minimum: 0 }), data: str() }, { open: true }),
  obj({ type: lit('heartbeat') }, { open: true }),
  obj({ type: lit('exit'), ...end }, { open: true }),
  obj({ type: lit('error'), error: obj({ code: str(), message: str() }, { open: true }) }, { open: true }),
])
export type ExecFrame = Static<typeof execFrame>

export const execHealth = obj(
  {
    protocol: str(),
    version: str(),
    instance: str(),
    features: arr(str()),
    limits: obj(
      {
        max_request_bytes: int(),
        max_response_bytes: int(),
        max_jobs: opt(int()),
        max_job_output_bytes: opt(int()),
      },
      { open: true },
    ),
  },
  { open: true },
)
export type ExecHealth = Static<typeof execHealth>

/** Times are ms since the epoch; what a running job does not have yet is null. */
export const execJobState = obj(
  {
    id: str(),
    scope: str(),
    command: str(),
    args: arr(str()),
    cwd: nullable(str()),
    state: oneOf(['running', 'exited']),
    pid: nullable(int()),
    started_at: num(),
    ended_at: nullable(num()),
    exit_code: nullable(int()),
    signal: nullable(str()),
    timed_out: bool(),
    kept: bool(),
    stdout_bytes: int({ minimum: 0 }),
    stderr_bytes: int({ minimum: 0 }),
    dropped_bytes: int({ minimum: 0 }),
  },
  { open: true },
)
export type ExecJobState = Static<typeof execJobState>
export const execJobList = obj({ jobs: arr(execJobState) }, { open: true })

export const fileKind = oneOf(['file', 'directory', 'symlink', 'fifo', 'device', 'socket'])
export type FileKind = Static<typeof fileKind>
export const fileStat = obj(
  { kind: fileKind, size: int(), mtime_ms: num(), mode: int(), target: opt(str()) },
  { open: true },
)
export type FileStat = Static<typeof fileStat>
export const fileList = obj(
  {
    /** `target` is where a link leads, in its own words. */
    entries: arr(obj({ path: str(), kind: fileKind, size: int(), target: opt(str()) }, { open: true })),
    truncated: bool(),
  },
  { open: true },
)
export type FileList = Static<typeof fileList>
