/** `agent settings`: shows every value with where it comes from, sets fields and clears them. */
import { textTable, visible } from '@beige/client'
import { privateJsonFile } from '@beige/models'
import { explain } from '@beige/protocol'
import { fail } from '../errors.ts'
import { stateDirOf } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'

import { expected, FIELDS, type Field, isGood } from './fields.ts'
import { parsed, problemsIn, type Settings, settingsPath, textOf } from './settings.ts'

/** Commander's: by flag in camel case; `clearModel: true`. */
export type RawSettings = Readonly<Record<string, unknown>>

export const camel = (dashed: string): string =>
  dashed.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

export async function settingsCommand(
  raw: RawSettings,
  world: Pick<ProcessWorld, 'env' | 'cwd' | 'stdout' | 'stderr'>,
): Promise<number> {
  const path = settingsPath(stateDirOf(world))
  const changes = changesOf(raw)
  const cleared = FIELDS.filter(field => raw[camel(`clear-${field.flag ?? field.name}`)] === true)
  const isClean = raw.clearUnknown === true
  if (changes.size === 0 && cleared.length === 0 && !isClean) return shown(path, raw.json === true, world)

  const bad = (what: string) => fail('bad_settings', { path, problems: what })
  await privateJsonFile(path, { bad }).change(async before => {
    const kept = Object.entries(before).filter(
      ([name]) =>
        !cleared.some(field => field.name === name) &&
        !(isClean && !FIELDS.some(field => field.name === name)),
    )
    return { ...Object.fromEntries(kept), ...Object.fromEntries(changes) }
  })
  const problems = problemsIn(parsed(textOf(path) ?? '{}', path))
  if (problems.length === 0) return 0
  world.stderr.write(`${visible(explain(bad(problems.join('; '))))}\n`)
  return 1
}

/** Throws `bad_value` before anything is written. */
function changesOf(raw: RawSettings): Map<string, unknown> {
  const changes = new Map<string, unknown>()
  for (const field of FIELDS) {
    const said = field.flag === null ? undefined : raw[camel(field.flag)]
    if (said === undefined) continue
    const value = valueIn(field, said)
    if (!isGood(field.kind, value)) {
      const reason = `${JSON.stringify(said)} is none`
      throw fail('bad_value', { name: `--${field.flag}`, reason, expected: expected(field.kind) })
    }
    changes.set(field.name, value)
  }
  return changes
}

/** Out of the words of a command line; what can not be read so is given back for the check to refuse. */
function valueIn({ kind }: Field, said: unknown): unknown {
  const text = String(said)
  switch (kind.is) {
    case 'flag':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : said
    case 'count':
      return /^\d+$/.test(text) ? Number(text) : said
    case 'list':
      return text
        .split(',')
        .map(one => one.trim())
        .filter(one => one !== '')
    case 'budgets': {
      const pairs = (Array.isArray(said) ? said : [said]).map(one => String(one).split('='))
      return Object.fromEntries(pairs.map(([effort = '', tokens = '']) => [effort, Number(tokens)]))
    }
    case 'text':
    case 'url':
    case 'choice':
    case 'objects':
      return said
    default:
      return kind satisfies never
  }
}

function shown(
  path: string,
  json: boolean,
  { env, stdout, stderr }: Pick<ProcessWorld, 'env' | 'stdout' | 'stderr'>,
): number {
  // It starts with a broken file too: this is how one is repaired.
  let settings: Settings = {}
  let problems: string[] = []
  try {
    settings = parsed(textOf(path) ?? '{}', path)
    problems = problemsIn(settings)
  } catch (error) {
    problems = [explain(error)]
  }
  const rows = FIELDS.map(field => ({ name: field.name, ...sourceOf(field, settings, env) }))
  if (json) stdout.write(`${JSON.stringify({ path, settings: rows, problems })}\n`)
  else {
    const lines = rows.map(({ name, value, source }) => [name, written(value), source])
    stdout.write(`${visible(textTable([['setting', 'value', 'from'], ...lines]))}\n\n${visible(path)}\n`)
    for (const problem of problems) stderr.write(`warning: ${visible(problem)}\n`)
  }
  return problems.length === 0 ? 0 : 1
}

function sourceOf(
  field: Field,
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
): { value: unknown; source: string } {
  const variable = field.variable?.startsWith('AI_') ? field.variable : `AI_AGENT_${field.variable ?? ''}`
  const said = field.variable === undefined ? undefined : env[variable]
  if (said !== undefined && said !== '') return { value: said, source: variable }
  if (settings[field.name] !== undefined) return { value: settings[field.name], source: 'settings.json' }
  return { value: field.otherwise, source: 'default' }
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
