/** How people write models: in any case, in part, with a level behind it; and the search of `list-models`. Pure. */
import type { Api, Model, ThinkingLevel } from '@earendil-works/pi-ai'
import { fail } from './errors.ts'
import type { ModelRouter } from './router.ts'

export const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const
export type Level = (typeof THINKING_LEVELS)[number]

/** `level`: of the suffix; null where there is none. `reasoning` is how a request takes it. */
export type NamedModel = { model: Model<Api>; level: Level | null }

export function isLevel(text: string): text is Level {
  return THINKING_LEVELS.some(level => level === text)
}

/** As `ModelRequest.options.reasoning`; undefined: the model does not think. */
export function reasoningOf(level: Level): ThinkingLevel | undefined {
  return level === 'off' ? undefined : level
}

/**
 * The exact id in any case, else the only one that has `name` in it, else `name` as it is. `:high` behind it is a level,
 * unless an id ends so. Throws `ambiguous_model` with the candidates, and what `router.resolve` throws.
 *
 * @example
 * namedModel(router, 'sonnet-4-6:high')
 */
export function namedModel(router: Pick<ModelRouter, 'resolve' | 'models'>, name: string): NamedModel {
  const asked = name.trim()
  const colon = asked.lastIndexOf(':')
  const suffix = asked.slice(colon + 1)
  const models = router.models()
  if (colon > 0 && isLevel(suffix) && !models.some(model => isCalled(model, asked)))
    return { model: found(router, models, asked.slice(0, colon)), level: suffix }
  return { model: found(router, models, asked), level: null }
}

function found(
  router: Pick<ModelRouter, 'resolve'>,
  models: readonly Model<Api>[],
  name: string,
): Model<Api> {
  const asked = name.toLowerCase()
  if (asked === '' || models.some(model => isCalled(model, asked))) return router.resolve(name)
  const inPart = models.filter(model => fullName(model).toLowerCase().includes(asked))
  const [only] = inPart
  if (only === undefined) return router.resolve(name)
  if (inPart.length > 1) throw fail('ambiguous_model', { model: name, names: listed(inPart.map(fullName)) })
  return router.resolve(fullName(only))
}

const MAX_LISTED = 12
function listed(names: readonly string[]): string {
  const more = names.length - MAX_LISTED
  return `${names.slice(0, MAX_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function isCalled(model: Model<Api>, name: string): boolean {
  const asked = name.toLowerCase()
  return model.id.toLowerCase() === asked || fullName(model).toLowerCase() === asked
}

function fullName({ provider, id }: Model<Api>): string {
  return `${provider}/${id}`
}

const RUN_BONUS = 3
const START_BONUS = 4
const GAP_PENALTY = 1
const MAX_GAP_PENALTY = 6

/**
 * Those whose name has the letters of `search` in order, the best first: runs and starts of words count, gaps cost.
 * Letters and digits may change places: `5sonnet` finds `sonnet-5` too.
 */
export function fuzzyModels(models: readonly Model<Api>[], search: string): Model<Api>[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '')
  return models
    .map(model => ({ model, score: scoreOfAll(words, `${fullName(model)} ${model.name}`.toLowerCase()) }))
    .filter(({ score }) => score !== null)
    .sort((a, b) => (b.score ?? 0) - (a.score ?? 0) || fullName(a.model).localeCompare(fullName(b.model)))
    .map(({ model }) => model)
}

function scoreOfAll(words: readonly string[], text: string): number | null {
  let sum = 0
  for (const word of words) {
    const scores = [word, swapped(word)].flatMap(one => (one === null ? [] : (score(one, text) ?? [])))
    if (scores.length === 0) return null
    sum += Math.max(...scores)
  }
  return sum
}

/** `5sonnet` as `sonnet5`, and back. */
function swapped(word: string): string | null {
  const parts = /^([0-9.]+)([^0-9.]+)$|^([^0-9.]+)([0-9.]+)$/.exec(word)
  if (parts === null) return null
  const [, number, name, before, after] = parts
  return number === undefined ? `${after}${before}` : `${name}${number}`
}

/** Of the best way to find the letters in order; null where there is none. */
function score(word: string, text: string): number | null {
  let best: number | null = null
  for (let start = text.indexOf(word[0] ?? ''); start >= 0; start = text.indexOf(word[0] ?? '', start + 1)) {
    const one = scoreFrom(word, text, start)
    if (one !== null && (best === null || one > best)) best = one
  }
  return best
}

function scoreFrom(word: string, text: string, start: number): number | null {
  let sum = 0
  let last = -1
  for (const letter of word) {
    const at = last < 0 ? start : text.indexOf(letter, last + 1)
    if (at < 0) return null
    if (last >= 0 && at === last + 1) sum += RUN_BONUS
    else if (last >= 0) sum -= Math.min((at - last - 1) * GAP_PENALTY, MAX_GAP_PENALTY)
    if (at === 0 || /[^a-z0-9]/.test(text[at - 1] ?? '')) sum += START_BONUS
    last = at
  }
  return sum
}
