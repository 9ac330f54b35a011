/** Commands that set the model, how much it thinks, and how a session behaves. Each is a record of the session. */

import { fail } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'
import { EFFORTS } from '../live-settings.ts'
import type { Handler } from './handler.ts'

function described(live: LiveSession): Record<string, unknown> {
  const { model, effort } = live.settings
  return { ...shownModel(model), model: live.settings.modelName, reasoning_effort: effort }
}

export function shownModel(model: LiveSession['settings']['model']): Record<string, unknown> {
  return {
    id: `${model.provider}/${model.id}`,
    provider: model.provider,
    context_window: model.contextWindow,
    max_output: model.maxTokens,
    reasoning: model.reasoning,
    supports_vision: model.input.includes('image'),
  }
}

async function choose(live: LiveSession, name: string): Promise<void> {
  const { model, effort } = live.settings.resolve(name)
  await live.settings.store({
    model: `${model.provider}/${model.id}`,
    ...(effort === null ? {} : { reasoning_effort: effort }),
  })
}

export const setModel: Handler<'set_model'> = async ({ model }, { live }) => {
  await choose(live, model)
  return described(live)
}

/** Also while a run goes on: it asks the new one from its next turn on. */
export const switchModel: Handler<'switch_model'> = async ({ model }, { live }) => {
  const previous = live.settings.modelName
  await choose(live, model)
  const now = live.settings.modelName
  if (live.run && now !== previous) {
    live.tell(live.run.id, { kind: 'model_switched', model: now, previous, cause: 'client' })
  }
  return described(live)
}

export const cycleModel: Handler<'cycle_model'> = async (_command, { live }) => {
  const names = live.setup.router.models().map(model => `${model.provider}/${model.id}`)
  const next = names[(names.indexOf(live.settings.modelName) + 1) % Math.max(1, names.length)]
  if (next === undefined) throw fail('not_found', { what: 'model', id: 'to go on to' })
  await choose(live, next)
  return { ...described(live), scoped: false }
}

export const models: Handler<'get_available_models'> = (_command, { live }) => ({
  models: live.setup.router.models().map(model => ({ ...shownModel(model), available: true })),
})

export const setEffort: Handler<'set_reasoning_effort'> = async ({ effort }, { live }) => {
  await live.settings.store({ reasoning_effort: effort })
  return levels(live)
}

export const cycleThinking: Handler<'cycle_thinking_level'> = async (_command, { live }) => {
  const at = EFFORTS.findIndex(one => one === (live.settings.effort ?? 'off'))
  await live.settings.store({ reasoning_effort: EFFORTS[(at + 1) % EFFORTS.length] ?? 'off' })
  return levels(live)
}

function levels(live: LiveSession): Record<string, unknown> {
  const { effort } = live.settings
  return { level: effort, thinking: null, reasoning_effort: effort }
}

export const setBlockImages: Handler<'set_block_images'> = async ({ enabled }, { live }) => {
  await live.settings.store({ block_images: enabled })
  return { enabled }
}

export const setSteeringMode: Handler<'set_steering_mode'> = async ({ mode }, { live }) => {
  await live.settings.store({ steering_mode: mode })
  return { mode }
}

export const setFollowUpMode: Handler<'set_follow_up_mode'> = async ({ mode }, { live }) => {
  await live.settings.store({ follow_up_mode: mode })
  return { mode }
}
