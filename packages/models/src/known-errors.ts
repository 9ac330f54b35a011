/** What vendors call their errors: the codes and the few texts that mean one thing wherever they are found. Data only. */
import type { FailureClass } from './classify.ts'

/**
 * In order of precedence, since one error may carry several: `insufficient_quota` says more than the
 * `rate_limit_error` beside it. In lower case. They win over the status.
 */
export const CODES: readonly (readonly [FailureClass, readonly string[]])[] = [
  [
    'context_too_long',
    [
      'context_length_exceeded',
      'request_too_large',
      'model_context_window_exceeded',
      'contextwindowexceedederror',
    ],
  ],
  [
    'quota',
    [
      'insufficient_quota',
      'billing_error',
      'billing_hard_limit_reached',
      'usage_limit_reached',
      'usage_not_included',
      'insufficient_balance',
      'exceeded_current_quota_error',
    ],
  ],
  [
    'overloaded',
    [
      'overloaded_error',
      'server_is_overloaded',
      'engine_overloaded_error',
      'capacity_exceeded',
      'service_tier_capacity_exceeded',
      'modelnotreadyexception',
      'serviceunavailableexception',
    ],
  ],
  [
    'auth',
    [
      'authentication_error',
      'permission_error',
      'invalid_api_key',
      'invalid_authentication_error',
      'api_key_invalid',
      'permission_denied',
      'unauthenticated',
      'accessdeniedexception',
      'unrecognizedclientexception',
      'expiredtokenexception',
    ],
  ],
  ['model_missing', ['model_not_found', 'deploymentnotfound', 'model_decommissioned']],
  ['refused', ['content_filter', 'content_policy_violation', 'responsibleaipolicyviolation']],
  [
    'rate_limit',
    [
      'rate_limit_error',
      'rate_limit_exceeded',
      'rate_limit_reached_error',
      'rate_limited',
      'slow_down',
      'resource_exhausted',
      'throttlingexception',
      'toomanyrequestsexception',
      'too_many_requests',
    ],
  ],
]

/** What a stream's error event says in place of a status. Beside a 4xx they are said of anything, so there they are not read. */
export const STREAM_CODES: readonly (readonly [FailureClass, readonly string[]])[] = [
  ['overloaded', ['unavailable']],
  ['model_missing', ['not_found_error', 'resourcenotfoundexception']],
  [
    'invalid_request',
    ['invalid_request_error', 'invalid_argument', 'failed_precondition', 'validationexception'],
  ],
  [
    'transient',
    [
      'api_error',
      'timeout_error',
      'server_error',
      'internal',
      'deadline_exceeded',
      'internalserverexception',
      'modelstreamerrorexception',
      'modeltimeoutexception',
      'modelerrorexception',
    ],
  ],
]

/** Codes that are numbers mean something with one vendor alone; by the id of its row. */
export const VENDOR_CODES: Readonly<Record<string, Readonly<Record<string, FailureClass>>>> = {
  zai: {
    '1001': 'auth',
    '1002': 'auth',
    '1003': 'auth',
    '1004': 'auth',
    '1113': 'quota',
    '1211': 'model_missing',
    '1261': 'context_too_long',
    '1301': 'refused',
    '1302': 'rate_limit',
    '1305': 'overloaded',
    '1308': 'quota',
    '1309': 'quota',
    '1310': 'quota',
  },
}

export const NO_CREDIT = /credit balance is too low|insufficient (?:credits|funds|balance)/i

/** A call without its result, or the other way round: the request was ours to get right. */
export const BAD_HISTORY =
  /`?tool_use`? ids were found without|unexpected `?tool_use_id`?|no tool output found for function call|must be followed by tool messages|must be a response to a prece?eding message with ['"]?tool_calls/i

export const CERTIFICATE =
  /^(?:CERT_|ERR_TLS_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY)|HOSTNAME_MISMATCH)/
