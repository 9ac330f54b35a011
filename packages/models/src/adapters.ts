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
import { withAlternatingRoles } from './alternating-roles.ts'
import { fail } from './errors.ts'
import type { WireApi } from './provider-table.ts'
import { type Fetch, systemFetch } from './system-fetch.ts'

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
    case 'openai-codex-responses':
      return import('@earendil-works/pi-ai/api/openai-codex-responses').then(
        ({ streamSimple }) =>
          (model, context, options) =>
            // Its other transport is a socket that outlives the request.
            streamSimple(asWire(model, api), context, { ...options, transport: 'sse' }),
      )
    case 'bedrock-converse-stream':
      return Promise.all([
        import('@earendil-works/pi-ai/api/bedrock-converse-stream'),
        import('./bedrock-fetch.ts'),
      ]).then(
        ([{ streamSimple }, { withSender }]) =>
          (model, context, options) =>
            withSender(named(options), () =>
              streamSimple(asWire(model, api), context, {
                ...options,
                onPayload: command => withAlternatingRoles(command) ?? undefined,
              }),
            ),
      )
    default:
      return api satisfies never
  }
}

/** Amazon's library puts its own name before ours. */
function named({ fetch: send = systemFetch, identity }: SimpleStreamOptions): Fetch {
  const agent = identity?.userAgent
  if (typeof agent !== 'object') return send
  return (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('user-agent', agent.custom)
    return send(input, { ...init, headers })
  }
}

function asWire<A extends WireApi>(model: Model<Api>, api: A): Model<A> {
  if (!speaks(model, api)) throw fail('wrong_wire', { model: model.id, api: model.api })
  return model
}
function speaks<A extends WireApi>(model: Model<Api>, api: A): model is Model<A> {
  return model.api === api
}
