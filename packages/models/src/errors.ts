/** Every error that this package throws. Failures of requests are no errors: they are `RequestFailure`. */
import { failer } from '@beige/protocol'

export const modelErrors = {
  no_route: {
    says: 'No way to reach {model}.',
    retryable: false,
    advice: 'Set {variable}',
  },
  not_offered: {
    says: 'No way to reach {model}: {provider} needs {needs}, which this version can not do.',
    retryable: false,
    advice: 'Use the model through another provider, or set AI_BASE_URL to a server that offers it',
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
  second_request: {
    says: 'an attempt is one request, and the library for {provider} asked for a second.',
    retryable: false,
    advice: 'Report this as a bug, with the answer that the first one got',
  },
} as const

export const fail = failer(modelErrors)
