/**
 * pi-ai's implementation of each wire, loaded when the first request needs it: a vendor's SDK costs 40 to 110 ms and
 * up to 40 MB, and nobody needs all of them.
 */
import type {
  Api,
  AssistantMessageEventStream,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
} from '@earendil-works/pi-ai'
import { fail } from './errors.ts'
import type { WireApi } from './provider-table.ts'

export type StreamOfWire = (
  model: Model<Api>,
  context: TranscriptContext,
  options: SimpleStreamOptions,
) => AssistantMessageEventStream

/** Node keeps loaded modules, so only the first call for a wire costs anything. */
export function loadWire(api: WireApi): Promise<StreamOfWire> {
  switch (api) {
    case 'anthropic-messages':
      return import('@earendil-works/pi-ai/api/anthropic-messages').then(
        ({ streamSimple }) =>
          (model, context, options) =>
            streamSimple(asWire(model, api), context, options),
      )
    case 'openai-completions':
      return import('@earendil-works/pi-ai/api/openai-completions').then(
        ({ streamSimple }) =>
          (model, context, options) =>
            streamSimple(asWire(model, api), context, options),
      )
    case 'openai-responses':
      return import('@earendil-works/pi-ai/api/openai-responses').then(
        ({ streamSimple }) =>
          (model, context, options) =>
            streamSimple(asWire(model, api), context, options),
      )
    case 'google-generative-ai':
      return import('@earendil-works/pi-ai/api/google-generative-ai').then(
        ({ streamSimple }) =>
          (model, context, options) =>
            streamSimple(asWire(model, api), context, options),
      )
    case 'mistral-conversations':
      return import('@earendil-works/pi-ai/api/mistral-conversations').then(
        ({ streamSimple }) =>
          (model, context, options) =>
            streamSimple(asWire(model, api), context, options),
      )
  }
}

function asWire<A extends WireApi>(model: Model<Api>, api: A): Model<A> {
  if (!speaks(model, api)) throw fail('wrong_wire', { model: model.id, api: model.api })
  return model
}
function speaks<A extends WireApi>(model: Model<Api>, api: A): model is Model<A> {
  return model.api === api
}
