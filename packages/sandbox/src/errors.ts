/** Every way in which a sandbox or its endpoint fails, and what a person can do about it. */
import { type ErrorTable, failer } from '@beige/protocol'

export const sandboxErrors = {
  // The endpoint
  aborted: {
    says: 'stopped: {what}',
    retryable: false,
    advice: 'Somebody stopped it. Unless `ended` is true, see whether the sandbox still answers',
  },
  endpoint_lost: {
    says: 'lost the exec endpoint {endpoint} ({reason}); command started: {commandStarted}',
    retryable: true,
    advice: 'See whether the sandbox still runs: beige doctor sandbox',
  },
  endpoint_unreachable: {
    says: 'no exec endpoint answers at {endpoint}: {reason}',
    retryable: true,
    advice: 'See whether the sandbox runs, and for a remote one check its URL and its network',
  },
  endpoint_refused: {
    says: 'the exec endpoint refused the request: {code}: {message}',
    retryable: false,
    advice: 'Code "unauthorized": check the token; "limit": end some jobs; else see the message',
  },
  endpoint_wrong: {
    says: 'what answers at {endpoint} does not speak exec/2: {reason}',
    retryable: false,
    advice: 'Check the URL; agent conformance exec --url URL tells what is wrong with it',
  },
  command_failed: {
    says: 'the endpoint failed while the command ran: {code}: {message}',
    retryable: false,
    advice: 'The command may have done a part of its work; look before it is started again',
  },
  answer_too_large: {
    says: 'more than {maxBytes} bytes; command started: {commandStarted}',
    retryable: false,
    advice: 'Send the output to a file and read a part of it',
  },
  request_too_large: {
    says: 'the request has {bytes} bytes, the endpoint takes {maxBytes}',
    retryable: false,
    advice: 'Write large data in parts',
  },

  // Jobs
  no_jobs: {
    says: 'the exec endpoint {endpoint} has no jobs',
    retryable: false,
    advice: 'Use an endpoint whose /health lists the feature "jobs", e.g. execd',
  },
  not_found: {
    says: 'no job {id} was ever started at the exec endpoint',
    retryable: false,
    advice: 'Start it',
  },
  gone: {
    says: 'the job {id} is gone: {message}',
    retryable: false,
    advice: 'Its sandbox was started anew, or its end is no longer kept; nobody knows how it ended',
  },
  conflict: {
    says: 'the exec endpoint refused what was asked of the job {id}: {message}',
    retryable: false,
    advice: 'The id belongs to another command, the job has ended, or another owner has taken over',
  },
  taken_over: {
    says: 'the exec endpoint does nothing more for this owner of {scope}: another one has taken over',
    retryable: false,
    advice: 'The session goes on where its new owner is; open it again to go on here',
  },

  // Files
  file_not_found: { says: 'no such file: {path}', retryable: false, advice: 'Check the path' },
  file_changed: {
    says: '{path} has changed since it was read',
    retryable: false,
    advice: 'Read it again, then repeat the change',
  },
  file_refused: {
    says: '{path}: {message}',
    retryable: false,
    advice: 'Only regular files can be read and written; the message names what is there',
  },
  bad_path: {
    says: 'not a path: {path}',
    retryable: false,
    advice: 'A path has no zero byte and is well-formed Unicode',
  },

  // Drivers
  unknown_driver: {
    says: 'no sandbox driver is called {name}',
    retryable: false,
    advice: 'One of: auto, docker, bubblewrap, host, or a URL',
  },
  no_sandbox: {
    says: 'no sandbox works here: docker: {docker}; bubblewrap: {bubblewrap}',
    retryable: false,
    advice: 'Install one: apt-get install bubblewrap   (or a Docker engine: apt-get install docker.io)',
  },
  no_engine: {
    says: 'no Docker engine answers at {socket}: {reason}',
    retryable: true,
    advice: 'Start it (dockerd, or systemctl start docker), or use bubblewrap: apt-get install bubblewrap',
  },
  engine_forbidden: {
    says: 'this user may not use the Docker engine at {socket}',
    retryable: false,
    advice: 'Join its group (usermod -aG docker USER, then log in again), or use bubblewrap',
  },
  driver_unavailable: { says: '{reason}', retryable: true, advice: '{advice}' },
  engine_refused: {
    says: 'the Docker engine refused {what}: {message}',
    retryable: false,
    advice: 'See the message and the log of dockerd',
  },
  image_missing: {
    says: 'the engine has no image {image}',
    retryable: false,
    advice: 'Ours: sandbox-image/build-local.sh; others: docker pull IMAGE. image: "host-usr" needs no build',
  },
  foreign_container: {
    says: 'a container called {name} exists and is not ours; it was not touched',
    retryable: false,
    advice: 'Rename or remove it, or give the agent another name',
  },
  no_bubblewrap: {
    says: 'bubblewrap can not make a sandbox here: {reason}',
    retryable: false,
    advice:
      'apt-get install bubblewrap. In a container it needs one that may make namespaces: use docker there',
  },
  sandbox_start_failed: {
    says: 'the sandbox {id} did not start: {reason}',
    retryable: true,
    advice: 'The reason comes from the engine or from execd; beige doctor sandbox checks the parts',
  },
  sandbox_busy: {
    says: 'another process has been opening the sandbox {id} for {waitedMs} ms',
    retryable: true,
    advice: 'See which process holds {lockFile}',
  },
  hardening_mismatch: {
    says: 'the sandbox {id} is not as it was asked for: {what}',
    retryable: false,
    advice: 'It was ended. The engine or the kernel ignores a setting; see the design page on security',
  },
  workspace_root_owned: {
    says: 'the workspace {path} is owned by root, and commands never run as root',
    retryable: false,
    advice:
      'Work in a folder that belongs to another user; one with nothing but the work in it can be given away with chown',
  },
  workspace_foreign: {
    says: 'the workspace {path} is owned by uid {owner}; uid {uid} can not run commands as somebody else',
    retryable: false,
    advice: 'Use a workspace of your own, or run as its owner',
  },
  bad_spec: {
    says: 'sandbox {id}: {what}',
    retryable: false,
    advice: 'Change the sandbox settings it names',
  },
  no_execd: {
    says: 'execd is not built for this machine; looked at {looked}',
    retryable: false,
    advice: 'npm install @beige/execd-linux-x64 (or -arm64), or in a checkout: npm run build:execd',
  },

  // The conformance kit: caught by it, and told as the outcome of a check
  check_failed: {
    says: '{reason}',
    retryable: false,
    advice: 'The design page "Exec protocol" says what an endpoint has to do',
  },
  check_skipped: { says: '{reason}', retryable: false, advice: 'Give the kit what it names' },
} as const satisfies ErrorTable

export const fail = failer(sandboxErrors)
export type SandboxErrorCode = keyof typeof sandboxErrors
