/** The models of an agent: all exist, what may be asked is closed, and where money is limited their prices are known. */
import type { AgentSection, ConfigDocument, ModelChoice, Place } from '@beige/protocol'
import { MENDED } from './mend.ts'
import { nearestName, type Report } from './report.ts'
import type { AgentConfig, Limits } from './resolved.ts'
import type { KnownModel, Surroundings } from './surroundings.ts'

export async function checkModels(
  section: AgentSection,
  document: ConfigDocument,
  place: Place,
  around: Surroundings,
  report: Report,
): Promise<Pick<AgentConfig, 'model' | 'fallbackModels' | 'allowModels'>> {
  const { model, fallbackModels = [], allowModels } = section
  const isMoney = [section.budget, document.llm.budget].some(
    budget => (budget?.usdPerDay ?? budget?.usdPerMonth) !== undefined,
  )
  const check = async (choice: ModelChoice, at: Place) => {
    const known = await find(choice, document, at, around, report)
    if (known !== null && isMoney && !known.isPriced)
      report.add(
        [...at, 'model'],
        `a budget in money covers ${nameOf(choice)}, whose price is not known: give the model a cost, or limit tokens`,
      )
  }
  await check(model, [...place, 'model'])
  for (const [key, list] of [
    ['fallbackModels', fallbackModels],
    ['allowModels', allowModels ?? []],
  ] as const) {
    const names = list.map(nameOf)
    for (const [index, choice] of list.entries()) {
      const at = [...place, key, index]
      await check(choice, at)
      if (names.indexOf(nameOf(choice)) < index) report.add(at, `${nameOf(choice)} is listed twice`)
    }
  }
  if (allowModels !== undefined) {
    const allowed = allowModels.map(nameOf)
    const asked: [ModelChoice, Place][] = [
      [model, [...place, 'model']],
      ...fallbackModels.map((one, index): [ModelChoice, Place] => [one, [...place, 'fallbackModels', index]]),
    ]
    for (const [choice, at] of asked)
      if (choice.model !== MENDED && choice.provider !== MENDED && !allowed.includes(nameOf(choice)))
        report.add(at, `${nameOf(choice)} is not in allowModels`)
  }
  return { model, fallbackModels, allowModels: allowModels ?? [model, ...fallbackModels] }
}

/** Null where nothing is limited. */
export function limitsOf(budget: AgentSection['budget']): Limits | null {
  const { turnsPerPrompt: _, ...limits } = budget ?? {}
  return Object.keys(limits).length === 0 ? null : limits
}

export function nameOf({ provider, model }: Pick<ModelChoice, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}

/** Null after a report, and where nothing can be said. */
async function find(
  { provider, model }: ModelChoice,
  document: ConfigDocument,
  place: Place,
  around: Surroundings,
  report: Report,
): Promise<KnownModel | null> {
  if (provider === MENDED || model === MENDED) return null
  const declared = document.llm.providers
  const found = Object.hasOwn(declared, provider) ? declared[provider] : undefined
  if (found === undefined) {
    const text = `no provider "${provider}" is configured`
    report.add([...place, 'provider'], text, nearestName(provider, Object.keys(declared)))
    return null
  }
  const known = await around.models(provider)
  const own = (found.models ?? []).map(({ id, cost }) => ({
    id,
    isPriced: cost !== undefined || known.some(one => one.id === id && one.isPriced),
  }))
  const all = [...own, ...known]
  const ids = all.map(one => one.id)
  if (ids.length === 0 || ids.includes(MENDED)) return null
  const match = all.find(one => one.id === model)
  if (match !== undefined) return match
  report.add([...place, 'model'], `${provider} has no model "${model}"`, nearestName(model, ids))
  return null
}
