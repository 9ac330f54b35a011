import { type ErrorTable, failer } from '@beige/protocol'

export const harnessErrors = {
  queue_full: {
    says: 'the {lane} queue is full',
    retryable: true,
    advice: 'Wait for a turn to end, or take one back with unqueue',
  },
  storage: {
    says: 'the session could not be written: {reason}',
    retryable: true,
    advice: 'Make room or repair the disk, then send the prompt again; nothing acknowledged is lost',
  },
  not_ready: {
    says: 'the run could not begin: {reason}',
    retryable: true,
    advice: 'See to what it names, then send the prompt again',
  },
  audit: {
    says: 'the audit log could not be written, so {tool} did not run: {reason}',
    retryable: true,
    advice: 'Make room under the logs folder; see: beige audit verify',
  },
  model: {
    says: '{model} did not answer: {reason}',
    retryable: true,
    advice: 'Send the prompt again, or choose another model',
  },
  budget: {
    says: '{reason}',
    retryable: false,
    advice: 'Raise the budget (--budget of a run), or wait for its next period',
  },
  no_output: {
    says: 'the model ended without an answer in the form that was asked for',
    retryable: true,
    advice: 'Send the prompt again, make the schema simpler, or choose another model',
  },
  bad_schema: {
    says: 'the output schema can not be used: {reason}',
    retryable: false,
    advice: 'Give a JSON Schema (2020-12 or draft 7) in one piece',
  },
  max_steps: {
    says: 'stopped after {steps} turns',
    retryable: false,
    advice: 'Send another prompt to go on, or raise --max-steps',
  },
  stuck: {
    says: '{tool} was called {times} times in a row with the same input and result',
    retryable: false,
    advice: 'Tell the agent what to do differently',
  },
  no_such_job: {
    says: 'this session has no job {number}',
    retryable: false,
    advice: 'List its jobs',
  },
  no_search_engine: {
    says: 'nothing in this sandbox can search: there is neither ripgrep nor a grep that knows -E, -a and UTF-8',
    retryable: false,
    advice: 'Install ripgrep in the sandbox',
  },
  not_posix: {
    says: 'the pattern can not be given to POSIX grep: {reason}',
    retryable: false,
    advice: 'Install ripgrep in the sandbox, or write the pattern another way',
  },
  shut_directory: {
    says: '{path}: Permission denied',
    retryable: false,
    advice: 'Give the user of the sandbox the right to enter it, if that is meant',
  },
  walk_failed: {
    says: 'the tree {path} could not be listed: {reason}',
    retryable: false,
    advice: 'The sandbox needs sh, head and tr; a tree that is too large is listed in parts',
  },
  aborted: { says: 'the run was stopped', retryable: false, advice: 'Send another prompt to go on' },
} as const satisfies ErrorTable

export const fail = failer(harnessErrors)
