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
} as const

export const fail = failer(modelErrors)
