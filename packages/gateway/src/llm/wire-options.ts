/** Puts what the libraries have no common option for into the payload that goes to a provider. Pure. */
import type { Api, Model } from '@earendil-works/pi-ai'
import { isRecord, type Json } from './json-reader.ts'
import type { AnswerFormat, Extras, ToolChoice } from './llm-request.ts'

/** The payload with the extras in the words of the model's wire; undefined where there is nothing to add. */
export function withExtras(extras: Extras, payload: unknown, model: Model<Api>): unknown {
  if (Object.values(extras).every(value => value === undefined) || !isRecord(payload)) return undefined
  const hasTools = Array.isArray(payload.tools) && payload.tools.length > 0
  switch (model.api) {
    case 'anthropic-messages':
      return { ...payload, ...anthropic(extras, payload, hasTools) }
    case 'openai-completions':
      return { ...payload, ...openAiChat(extras, hasTools) }
    case 'openai-responses':
      return { ...payload, ...openAiResponses(extras, payload, hasTools) }
    case 'google-generative-ai':
      return {
        ...payload,
        config: { ...(isRecord(payload.config) ? payload.config : {}), ...google(extras) },
      }
    case 'mistral-conversations':
      return { ...payload, ...mistral(extras, hasTools) }
    default:
      return undefined
  }
}

function anthropic(extras: Extras, payload: Json, hasTools: boolean): Json {
  const { toolChoice, stop, topP, topK, format, isParallel } = extras
  const thinks = isRecord(payload.thinking) && payload.thinking.type !== 'disabled'
  // With thinking the vendor takes neither a forced tool nor sampling.
  const choice = hasTools ? anthropicChoice(toolChoice, isParallel, thinks) : undefined
  return {
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
    ...(topP === undefined || thinks ? {} : { top_p: topP }),
    ...(topK === undefined || thinks ? {} : { top_k: topK }),
    ...(format?.type !== 'schema'
      ? {}
      : {
          output_config: {
            ...(isRecord(payload.output_config) ? payload.output_config : {}),
            format: { type: 'json_schema', schema: format.schema },
          },
        }),
  }
}

function anthropicChoice(choice: ToolChoice | undefined, isParallel: boolean | undefined, thinks: boolean) {
  const alone = isParallel === false ? { disable_parallel_tool_use: true } : {}
  if (choice === 'none') return { type: 'none' }
  if (thinks || choice === undefined || choice === 'auto')
    return choice === undefined && isParallel === undefined ? undefined : { type: 'auto', ...alone }
  return choice === 'required' ? { type: 'any', ...alone } : { type: 'tool', name: choice.name, ...alone }
}

function openAiChat({ toolChoice, stop, topP, format, isParallel }: Extras, hasTools: boolean): Json {
  return {
    ...(toolChoice === undefined || !hasTools
      ? {}
      : {
          tool_choice:
            typeof toolChoice === 'string'
              ? toolChoice
              : { type: 'function', function: { name: toolChoice.name } },
        }),
    ...(isParallel === undefined || !hasTools ? {} : { parallel_tool_calls: isParallel }),
    ...(stop === undefined ? {} : { stop }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(format === undefined ? {} : { response_format: chatFormat(format) }),
  }
}

function chatFormat(format: AnswerFormat): Json {
  if (format.type === 'json') return { type: 'json_object' }
  const { name, schema, strict } = format
  return { type: 'json_schema', json_schema: { name, schema, strict } }
}

function openAiResponses(
  { toolChoice, topP, format, isParallel }: Extras,
  payload: Json,
  hasTools: boolean,
): Json {
  return {
    ...(toolChoice === undefined || !hasTools
      ? {}
      : {
          tool_choice:
            typeof toolChoice === 'string' ? toolChoice : { type: 'function', name: toolChoice.name },
        }),
    ...(isParallel === undefined || !hasTools ? {} : { parallel_tool_calls: isParallel }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(format === undefined
      ? {}
      : {
          text: {
            ...(isRecord(payload.text) ? payload.text : {}),
            format:
              format.type === 'json'
                ? { type: 'json_object' }
                : { type: 'json_schema', name: format.name, schema: format.schema, strict: format.strict },
          },
        }),
  }
}

function google({ toolChoice, stop, topP, topK, format }: Extras): Json {
  const forced = toolChoice === 'required' || typeof toolChoice === 'object'
  return {
    ...(stop === undefined ? {} : { stopSequences: stop }),
    ...(topP === undefined ? {} : { topP }),
    ...(topK === undefined ? {} : { topK }),
    ...(!forced
      ? {}
      : {
          toolConfig: {
            functionCallingConfig: {
              mode: 'ANY',
              ...(typeof toolChoice === 'object' ? { allowedFunctionNames: [toolChoice.name] } : {}),
            },
          },
        }),
    ...(format === undefined ? {} : { responseMimeType: 'application/json' }),
    ...(format?.type === 'schema' ? { responseJsonSchema: format.schema } : {}),
  }
}

function mistral({ toolChoice, stop, topP, format }: Extras, hasTools: boolean): Json {
  return {
    ...(toolChoice === undefined || !hasTools
      ? {}
      : {
          toolChoice:
            toolChoice === 'required'
              ? 'any'
              : typeof toolChoice === 'string'
                ? toolChoice
                : { type: 'function', function: { name: toolChoice.name } },
        }),
    ...(stop === undefined ? {} : { stop }),
    ...(topP === undefined ? {} : { topP }),
    ...(format?.type === 'json' ? { responseFormat: { type: 'json_object' } } : {}),
    ...(format?.type !== 'schema'
      ? {}
      : {
          responseFormat: {
            type: 'json_schema',
            jsonSchema: { name: format.name, schemaDefinition: format.schema, strict: format.strict },
          },
        }),
  }
}
