/** Every error that this package throws. Failures of requests are no errors: they are `RequestFailure`. */
import { failer } from '@beige/protocol'

export const modelErrors = {
  no_route: {
    says: 'No way to reach {model}.',
    retryable: false,
    advice: 'Set {variable}',
  },
  needs_login: {
    says: '{provider}: {what}.',
    retryable: false,
    advice: 'Run: agent login {provider}',
  },
  bad_auth_file: {
    says: '{path} can not be used: {what}.',
    retryable: false,
    advice: 'Move the file away, then log in again: agent login',
  },
  auth_file_busy: {
    says: 'another process has held {path} for {seconds} s.',
    retryable: true,
    advice: 'See which process that is, and end it',
  },
  bad_secret: {
    says: 'models.json has no usable key for {model}: {what}.',
    retryable: false,
    advice: 'Run the command of the entry by hand and mend it',
  },
  unknown_model: {
    says: '{provider} has no model "{model}"{near}.',
    retryable: false,
    advice: 'Check the id, or list the model in the configuration of its provider',
  },
  ambiguous_model: {
    says: '"{model}" is offered by several providers: {names}.',
    retryable: false,
    advice: 'Put the provider before the id: provider/id',
  },
  bad_provider: {
    says: 'provider "{provider}": {what}.',
    retryable: false,
    advice: 'Mend the provider in the configuration',
  },
  wrong_wire: {
    says: 'model {model} speaks {api}, for which there is no library here.',
    retryable: false,
    advice: 'Give its provider one of the wires that the configuration page lists',
  },
  wrong_place: {
    says: 'a request to {origin} is not for {provider}, so its key is not sent there.',
    retryable: false,
    advice: 'Report this as a bug: a library built the wrong URL',
  },
  not_allowed: {
    says: '{model} may not be used here.',
    retryable: false,
    advice: 'Use one of: {allowed}',
  },
  no_price: {
    says: 'a budget in money covers {model}, whose price is not known.',
    retryable: false,
    advice: 'Give the model a cost in the configuration of its provider, or limit tokens instead',
  },
  bad_number: {
    says: '{name} is {value}, and must be {expected}.',
    retryable: false,
    advice: 'Mend the number in the configuration or on the command line',
  },
  budget: {
    says: 'the budget of {budget} is spent: {spent} of {limit}, and this request may need up to {needed} more.',
    retryable: false,
    advice: 'Wait for the next period, or raise the budget',
  },
  all_models_unavailable: {
    says: 'no model could answer: {tried}.',
    retryable: true,
    advice: 'Send the prompt again later, or choose another model',
  },
  refused_by_vendor: {
    says: 'HTTP {status}: {text}',
    retryable: false,
    advice: 'Read what the vendor says',
  },
  second_request: {
    says: 'an attempt is one request, and the library for {provider} asked for a second.',
    retryable: false,
    advice: 'Report this as a bug, with the answer that the first one got',
  },
} as const

export const fail = failer(modelErrors)
