/** What a session is set to at this moment: its `setting` records over what its set-up says. */
import type { LaneMode, LaneName, RunParts, Session } from '@beige/harness'
import { namedModel } from '@beige/models'
import type { SessionSetup } from './setup.ts'

export const EFFORTS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const
export type Effort = (typeof EFFORTS)[number]
type Model = SessionSetup['model']

export interface LiveSettings {
  readonly model: Model
  /** `provider/id` */
  readonly modelName: string
  readonly effort: Effort | null
  readonly reasoning: RunParts['reasoning']
  readonly blockImages: boolean
  mode(lane: LaneName): LaneMode
  /** Durable when it resolves; viewers are told. */
  store(changes: Readonly<Record<string, string | boolean | number | null>>): Promise<void>
  /** Throws what the router says of a model that it can not reach. `:level` at its end sets the effort. */
  resolve(name: string): { model: Model; effort: Effort | null }
}

export function createLiveSettings(
  session: Session,
  setup: SessionSetup,
  changed: (settings: Record<string, unknown>) => void,
): LiveSettings {
  let isSetHere = false
  let isEffortSetHere = false
  let made: { name: string; model: Model } | null = null

  const setting = (name: string): unknown => session.state().settings.get(name)

  function model(): Model {
    const name = setting('model')
    // What the set-up was made with counts until somebody sets another one here.
    if (typeof name !== 'string' || !isSetHere) return setup.model
    if (made?.name !== name) made = { name, model: setup.router.resolve(name) }
    return made.model
  }
  const settings: LiveSettings = {
    get model() {
      return model()
    },
    get modelName() {
      const { provider, id } = model()
      return `${provider}/${id}`
    },
    get effort() {
      if (setup.effort !== undefined && !isEffortSetHere) return setup.effort
      const effort = setting('reasoning_effort')
      return EFFORTS.find(one => one === effort) ?? EFFORTS.find(one => one === setup.reasoning) ?? null
    },
    get reasoning() {
      const { effort } = settings
      return effort === null || effort === 'off' ? undefined : effort
    },
    get blockImages() {
      return setting('block_images') === true
    },
    mode: lane =>
      setting(`${lane === 'steer' ? 'steering' : lane}_mode`) === 'all' ? 'all' : 'one_at_a_time',
    store: async changes => {
      const bodies = Object.entries(changes).map(
        ([name, value]) => ({ type: 'setting', name, value }) as const,
      )
      await session.append(...bodies)
      if ('model' in changes) isSetHere = true
      if ('reasoning_effort' in changes) isEffortSetHere = true
      changed(changes)
    },
    resolve: name => {
      const { model, level } = namedModel(setup.router, name)
      return { model, effort: level }
    },
  }
  return settings
}
