/** `agent list-models`: what can be asked from here, searched by letters in order. */
import { textTable, visible } from '@beige/client'
import { fuzzyModels } from '@beige/models'
import type { ProcessWorld } from '../process-world.ts'

import { modelsOf } from './catalogue.ts'

export type ListModelsOptions = { json?: boolean; all?: boolean; gatewayUrl?: string; key?: string }

export async function listModelsCommand(
  words: readonly string[],
  raw: ListModelsOptions,
  world: ProcessWorld,
): Promise<number> {
  const known = await modelsOf(raw, world)
  const found = fuzzyModels(known, words.join(' '))
  if (raw.json === true) {
    const rows = found.map(model => ({
      id: model.id,
      provider: model.provider,
      context_window: model.contextWindow,
      max_output: model.maxTokens,
      reasoning: model.reasoning,
      supports_vision: model.input.includes('image'),
    }))
    world.stdout.write(`${JSON.stringify({ models: rows })}\n`)
    return 0
  }
  if (found.length === 0) {
    const why =
      known.length === 0
        ? 'no provider has a key or a login here; --all lists every known model'
        : 'none is called so'
    world.stderr.write(`${why}\n`)
    return 1
  }
  const lines = found.map(model => [
    model.id,
    model.provider,
    counted(model.contextWindow),
    counted(model.maxTokens),
    model.reasoning ? 'yes' : '',
    model.input.includes('image') ? 'yes' : '',
  ])
  const head = ['id', 'provider', 'context', 'output', 'reasoning', 'vision']
  world.stdout.write(`${visible(textTable([head, ...lines], new Set([2, 3])))}\n`)
  return 0
}

/** `200K`, `1M`, `1.5M`. */
export function counted(tokens: number): string {
  const [size, unit] = tokens >= 999_500 ? [1_000_000, 'M'] : [1000, 'K']
  if (tokens < 1000) return String(tokens)
  return `${Number((tokens / size).toFixed(unit === 'M' ? 1 : 0))}${unit}`
}
