/** For each switch of the wrong endpoint the checks that must fail, in the order of the kit; every other one must pass. */
import type { Defect } from '@beige/test-support'

/** What is refused, or said about itself. */
export const requests = {
  takes_any_token: ['no token is 401'],
  malformed_is_500: ['malformed body is 400', 'an id that can not be one is refused'],
  takes_oversized: ['oversized request is refused'],
  truncates_answer: ['over-cap answer is an error'],
  new_instance_each_time: [
    'health names protocol, instance, features and limits',
    'another instance is gone',
    'killed supervisor leaves nothing',
  ],
  ignores_fence: ['a lower fence is refused', 'a lower fence is refused on every call'],
  no_heartbeat: ['heartbeat while silent'],
} as const

/** Who is told of an end, how often and with what. */
export const notify = {
  notifies_once: ['notify once per end and retried on 500'],
  notifies_thrice: ['notify once per end and retried on 500'],
  notifies_without_token: ['notify once per end and retried on 500'],
  notifies_refused_jobs: ['a job that never started never notifies'],
} as const

/** Bytes in and out of a command, and its variables. */
export const bytes = {
  merges_streams: [
    'non-zero is a result',
    'stdout and stderr apart',
    'all 256 byte values',
    'missing program is 127 and not a 500',
    'missing cwd',
    'output before a timeout is kept',
    'stream order and offsets',
    'a job is listed and described',
    'output by offset',
    'order of two streams kept',
  ],
  loses_high_bytes: [
    'all 256 byte values',
    'stdin delivered and closed',
    '1 MiB of stdin',
    'argv with spaces, quotes, newlines, empty strings',
    'env added and removed',
    'bytes split inside UTF-8',
  ],
  cuts_stdin: ['1 MiB of stdin'],
  trims_args: ['argv with spaces, quotes, newlines, empty strings'],
  env_replaces: ['env added and removed'],
  shows_own_environment: ["the endpoint's own environment hidden"],
} as const

/** How a command is started and ends. */
export const commands = {
  exit_code_is_a_truth: [
    'exit code passes',
    'non-zero is a result',
    'stdin delivered and closed',
    'a held pipe does not hold the answer',
    '32 commands at once',
    'timeout kills and says so',
    'exit frame last',
    'job survives disconnect',
    'a job is listed and described',
    'same id twice runs once',
    'a finished id answers again and does not run again',
    'finished job kept for its ttl',
    'notify once per end and retried on 500',
    'killed supervisor leaves nothing',
  ],
  signal_as_code: ['signal is named', 'exit frame last', 'kill'],
  missing_program_is_500: ['missing program is 127 and not a 500'],
  ignores_cwd: ['cwd', 'missing cwd'],
} as const

/** Timeouts, and answers that wait too long. */
export const timeouts = {
  held_pipe_holds_answer: ['a held pipe does not hold the answer'],
  timeout_not_said: [
    'timeout kills and says so',
    'output before a timeout is kept',
    'SIGTERM comes first',
    'an answer comes only when nothing is left',
    'a timeout in a stream is said in its exit frame',
  ],
  drops_output_of_timed_out: ['output before a timeout is kept', 'SIGTERM comes first'],
  kills_without_grace: ['SIGTERM comes first'],
} as const

/** Whether a kill reaches everything, and an answer waits for it. */
export const kills = {
  kills_group_only: [
    'leftovers swept',
    'leftovers of a stream swept',
    'disconnect kills setsid children',
    'disconnect kills what ignores SIGTERM',
    'killed supervisor leaves nothing',
  ],
  answers_before_dead: [
    'an answer comes only when nothing is left',
    'kill',
    'killed supervisor leaves nothing',
  ],
  no_sweep: ['leftovers swept', 'leftovers of a stream swept'],
  ignores_disconnect: [
    'disconnect kills the group',
    'disconnect kills double-forked children',
    'disconnect kills setsid children',
    'disconnect kills nohup children',
    'disconnect kills what ignores SIGTERM',
    'a job that is not kept ends with its connection',
  ],
} as const

/** Frames as they come. */
export const frames = {
  two_exits: ['exit frame last'],
  exit_not_last: [
    'leftovers of a stream swept',
    'exit frame last',
    'a timeout in a stream is said in its exit frame',
    'kill',
  ],
  offsets_restart: [
    'stream order and offsets',
    'slow reader bounded memory',
    'output by offset',
    'dropped output is counted',
  ],
  reads_without_bound: ['slow reader bounded memory'],
} as const

/** What is held of a job, and its input. */
export const jobOutput = {
  output_from_start: ['output by offset', 'output of 4 MiB is kept whole', 'output waits for what comes'],
  orders_by_stream: ['order of two streams kept'],
  drops_silently: ['dropped output is counted'],
  stdin_always_taken: ['stdin of a running job'],
} as const

/** Ids and instances. */
export const jobIds = {
  runs_twice_for_one_id: [
    'same id twice runs once',
    'a finished id answers again and does not run again',
    'same id with another body conflicts',
    'a job that never started never notifies',
  ],
  takes_another_body: ['same id with another body conflicts', 'a job that never started never notifies'],
  forgets_ended_ids: ['finished id without its output is gone'],
  ignores_instance: ['another instance is gone', 'a job that never started never notifies'],
  takes_any_id: ['an id that can not be one is refused'],
} as const

/** Kills and keeping of jobs. */
export const jobEnds = {
  ttl_is_short: ['finished job kept for its ttl'],
  ignores_keep_later: [
    'keep of a running stream',
    'a stream without a job has an id that can be kept',
    'notify asked for while it runs',
  ],
  second_delete_is_404: ['keep of a running stream', 'kill'],
  delete_is_not_awaited: [
    'keep of a running stream',
    'a stream without a job has an id that can be kept',
    'kill',
  ],
  scope_kill_does_nothing: ['scopes are apart', 'kill by scope', 'a scope that was deleted is forgotten'],
} as const

/** Writing of files. */
export const fileWrites = {
  writes_in_place: ['atomic write under a concurrent reader', 'an upload that breaks off changes nothing'],
  cuts_files: ['file round trip of 8 MiB', 'atomic write under a concurrent reader'],
  ignores_if_match: ['If-Match'],
  replaces_symlinks: ['symlink kept'],
  resets_mode: ['mode kept and set'],
} as const

/** The other file calls. */
export const files = {
  always_makes_parents: ['parents are made when asked'],
  ranges_are_exclusive: ['range of a file'],
  waits_at_fifos: ['fifo refused'],
  lists_unsorted: ['list sorted and truncated'],
  deletes_whole_folders: ['delete takes a file or an empty folder'],
} as const

/** Every switch has its place. */
export const allExpected: Readonly<Record<Defect, readonly string[]>> = {
  ...requests,
  ...notify,
  ...bytes,
  ...commands,
  ...timeouts,
  ...kills,
  ...frames,
  ...jobOutput,
  ...jobIds,
  ...jobEnds,
  ...fileWrites,
  ...files,
}
