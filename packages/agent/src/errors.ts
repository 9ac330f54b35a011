import { type ErrorTable, failer } from '@beige/protocol'

export const agentErrors = {
  usage: { says: '{reason}', retryable: false, advice: 'See: agent {command} --help' },
  workspace_of_root: {
    says: '{path} belongs to root, and nothing in a sandbox runs as root',
    retryable: false,
    advice: 'Work in a folder of another user (a new one with chown), or name --sandbox host',
  },
  notify_key: {
    says: 'the key {path} can not be used: {reason}',
    retryable: false,
    advice: 'Choose another state directory with BEIGE_HOME, or leave --notify-origin out',
  },
  login: {
    says: 'the login to {provider} failed: {reason}',
    retryable: true,
    advice: 'Try again: agent login {provider}',
  },
  bad_settings: {
    says: '{path}: {problems}',
    retryable: false,
    advice: 'Mend it by hand, or with agent settings: --clear-unknown, or --clear-… and the name of a field',
  },
  bad_value: { says: '{name}: {reason}', retryable: false, advice: 'Expected {expected}' },
  bad_line: {
    says: 'not one JSON object on one line: {reason}',
    retryable: false,
    advice: 'Send one command a line',
  },
  bad_request: { says: 'bad request: {reason}', retryable: false, advice: 'Send one JSON object at a time' },
  line_too_large: {
    says: 'a line is longer than {maxBytes} bytes',
    retryable: false,
    advice: 'Send less at once',
  },
  token_file: {
    says: 'the token file {path} can not be used: {reason}',
    retryable: false,
    advice: 'Mode 0600, one token a line: TOKEN [drive|view] [name]. Another file: --auth-token-file',
  },
  plaintext: {
    says: '{address} is reachable from elsewhere, and the token would travel in the clear',
    retryable: false,
    advice: 'Use --tls-listen, a loopback address, or --allow-plaintext',
  },
  listen: { says: 'can not listen at {place}: {reason}', retryable: false, advice: 'Choose another place' },
  tls: {
    says: 'certificate {cert} and key {key} can not be used: {reason}',
    retryable: false,
    advice: 'PEM files that belong together: --tls-cert, --tls-key',
  },
  no_sandbox: {
    says: 'no sandbox works here: docker: {docker}; bubblewrap: {bubblewrap}',
    retryable: false,
    advice:
      'Install one: apt-get install bubblewrap   (or docker.io). Without any, with your own rights: --sandbox host',
  },
  nothing_to_resume: {
    says: 'session {id} has no run that was cut off',
    retryable: false,
    advice: 'Give it a task: agent run --session-id {id} "…"',
  },
  no_session: {
    says: 'no session is called {id} in {place}',
    retryable: false,
    advice: 'See what there is: {see}',
  },
  ambiguous_session: {
    says: '{id} may be any of {candidates}',
    retryable: false,
    advice: 'Give more of its id',
  },
  no_log: {
    says: '{path} holds no session log',
    retryable: false,
    advice: 'Name a session by its id, its folder, or a segment such as 000001.jsonl in it',
  },
  key_file: {
    says: '{path} is no key file: {reason}',
    retryable: false,
    advice:
      'It holds 32 random bytes in base64: head -c 32 /dev/urandom | base64 > KEYFILE; chmod 600 KEYFILE',
  },
  export: {
    says: '{path} can not be written: {reason}',
    retryable: false,
    advice: 'Name another file: agent export SESSION OUT, or - for stdout',
  },
  not_for_store: {
    says: 'store {kind} keeps no files that this could look at',
    retryable: false,
    advice: 'What is damaged there is told and set aside when a session is opened: agent sessions show',
  },
  session_dir: {
    says: 'the state directory {path} can not be used: {reason}',
    retryable: false,
    advice: 'Choose another with --session-dir or BEIGE_HOME',
  },
} as const satisfies ErrorTable

export const fail = failer(agentErrors)
