import { type ErrorTable, failer } from '@beige/protocol'

export const gatewayErrors = {
  config_invalid: {
    says: '{lines}',
    retryable: false,
    advice: 'Mend the file, then: beige config check',
  },
  usage: { says: '{reason}', retryable: false, advice: 'See: beige --help' },
  home_unsafe: {
    says: '{path} {reason}',
    retryable: false,
    advice:
      'Only its owner may have access to the home of beige; mend its mode or choose another with BEIGE_HOME',
  },
  file_damaged: {
    says: '{path} could not be read as what it should be and was moved to {aside}: {reason}',
    retryable: false,
    advice: 'Look at the file that was moved; nothing was overwritten',
  },
  already_running: {
    says: 'already running{who}',
    retryable: false,
    advice: 'See: beige gateway status',
  },
  not_running: {
    says: 'no gateway runs for {home}',
    retryable: false,
    advice: 'Start it: beige gateway start',
  },
  start_failed: { says: 'the gateway did not start: {reason}', retryable: false, advice: 'See {log}' },
  start_timeout: {
    says: 'not ready after {timeoutMs} ms',
    retryable: true,
    advice: 'See {log}; it may still become ready: beige gateway status',
  },
  stop_timeout: {
    says: 'pid {pid} did not end within {timeoutMs} ms and was killed',
    retryable: false,
    advice: 'See {log} for the step that hung',
  },
  audit_broken: {
    says: 'the audit chain is broken: {file} at byte {offset}: {reason}',
    retryable: false,
    advice:
      'Nothing runs without a trail that can be trusted. See: beige audit verify; set the files aside only knowingly',
  },
  audit_write: {
    says: 'the audit log could not be written: {reason}',
    retryable: true,
    advice: 'Make room under the logs folder; tools run again as soon as a line can be written',
  },
  restart_refused: {
    says: '{lines}',
    retryable: false,
    advice: 'The gateway goes on as it was. Mend the file, then: beige config check',
  },
  unknown_agent: {
    says: 'no agent "{agent}" is configured{hint}',
    retryable: false,
    advice: 'See: beige gateway status',
  },
  agent_unavailable: {
    says: 'agent "{agent}" is not available: {reason}',
    retryable: true,
    advice: 'It is tried again by itself; see: beige gateway status',
  },
  model_denied: {
    says: '{model} may not be used with this key',
    retryable: false,
    advice: 'GET /v1/models lists what may be; beige keys create makes another key',
  },
  unknown_session: {
    says: 'no session has the key {key}',
    retryable: false,
    advice: 'Keys look like api:<agent>:default; beige prompt --session makes one',
  },
  unavailable: { says: 'the gateway is stopping', retryable: true, advice: 'Ask again when it runs' },
  unauthorized: { says: 'unauthorized', retryable: false, advice: 'Make a token: beige token create' },
  forbidden: { says: 'this token may not do that', retryable: false, advice: 'It needs the scope {scope}' },
  bad_host: {
    says: 'this host name is not served here',
    retryable: false,
    advice: 'Add it to gateway.publicHosts',
  },
  bad_origin: { says: 'no page may ask this', retryable: false, advice: 'Add its origin to gateway.origins' },
  bad_request: { says: '{reason}', retryable: false, advice: 'Mend the request' },
  not_found: { says: 'not found', retryable: false, advice: 'See GET /api/agents' },
  bad_method: { says: 'method not allowed', retryable: false, advice: 'Use {allow}' },
  bad_content_type: {
    says: 'the body must be application/json',
    retryable: false,
    advice: 'Send Content-Type: application/json and no content encoding',
  },
  body_too_large: { says: 'the body has more than {maxBytes} bytes', retryable: false, advice: 'Send less' },
  body_timeout: {
    says: 'the body did not arrive within {timeoutMs} ms',
    retryable: true,
    advice: 'Send it at once',
  },
  rate_limited: { says: 'too many requests', retryable: true, advice: 'Wait {retryAfterSeconds} s' },
  plugin_failed: {
    says: 'plugin "{plugin}" {reason}',
    retryable: true,
    advice: 'It is started again by itself; see logs/gateway.log',
  },
  plugin_protocol: {
    says: 'plugin "{plugin}" broke the pipe\'s rules: {reason}',
    retryable: false,
    advice: 'It was stopped and is started again; report it to its author',
  },
  plugin_code: { says: '{reason}', retryable: false, advice: 'Mend the plugin' },
  socket_protocol: { says: '{reason}', retryable: false, advice: 'The connection is closed' },
  system_refused: { says: '{reason}', retryable: true, advice: '{advice}' },
  gateway_answer: { says: '{message}', retryable: false, advice: '{advice}' },
} as const satisfies ErrorTable

export const fail = failer(gatewayErrors)
