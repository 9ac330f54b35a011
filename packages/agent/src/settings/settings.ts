/** `settings.json`: read strictly, so that a typing mistake is said and never silently without effect (H100). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, nearest } from '@beige/protocol'
import { fail } from '../errors.ts'
import { expected, FIELDS, isGood, isRecord } from './fields.ts'

export const SETTINGS_FILE = 'settings.json'

/** Checked; what is not in the file is not here. */
export type Settings = Readonly<Record<string, unknown>>

/** `project`: a project's own file, which may not say everything. */
export type SettingsPlace = 'global' | 'project'

export const settingsPath = (stateDir: string): string => join(stateDir, SETTINGS_FILE)

/** None when there is no file. Throws `bad_settings` with everything that is wrong with it. */
export function readSettings(path: string, place: SettingsPlace = 'global'): Settings {
  const text = textOf(path)
  if (text === null) return {}
  const settings = parsed(text, path)
  const problems = problemsIn(settings, place)
  if (problems.length > 0) throw fail('bad_settings', { path, problems: problems.join('; ') })
  return settings
}

/** The project's over the global ones; lists replace, never merge. */
export function mergedSettings(global: Settings, project: Settings): Settings {
  return { ...global, ...project }
}

/** The text of a file, null when there is none. Throws `bad_settings`. */
export function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return null
    throw fail('bad_settings', { path, problems: messageOf(error) })
  }
}

/** Throws `bad_settings` with the line of what is no JSON. */
export function parsed(text: string, path: string): Settings {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (error) {
    throw fail('bad_settings', { path, problems: `${placeOf(messageOf(error), text)}it is no JSON` })
  }
  if (isRecord(data)) return data
  throw fail('bad_settings', { path, problems: 'it must be one object' })
}

/** Every field that is unknown, wrong, or not for this place; the values stay unsaid. */
export function problemsIn(settings: Settings, place: SettingsPlace = 'global'): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const field = FIELDS.find(one => one.name === name)
    if (field === undefined) {
      const [near] = nearest(
        name,
        FIELDS.map(one => one.name),
      )
      return [`${name} is unknown${near === undefined ? '' : `, did you mean ${near}?`}`]
    }
    if (place === 'project' && field.isGlobalOnly) return [`${name} is not for a project to say`]
    if (!isGood(field.kind, value)) return [`${name} must be ${expected(field.kind)}`]
    if (place === 'project' && name === 'sandbox' && value === 'host')
      return ['sandbox: a project may not choose host']
    return []
  })
}

/** `line 3: ` out of what the parser says, which repeats the text and is not shown itself. */
function placeOf(message: string, text: string): string {
  const line = /line (\d+)/.exec(message)?.[1]
  const position = /position (\d+)/.exec(message)?.[1]
  if (line !== undefined) return `line ${line}: `
  if (position !== undefined) return `line ${text.slice(0, Number(position)).split('\n').length}: `
  return /end of/i.test(message) ? `line ${text.split('\n').length}: ` : ''
}

export function textSetting(settings: Settings, name: string): string | undefined {
  const value = settings[name]
  return typeof value === 'string' ? value : undefined
}
export function countSetting(settings: Settings, name: string): number | undefined {
  const value = settings[name]
  return typeof value === 'number' ? value : undefined
}
export function listSetting(settings: Settings, name: string): readonly string[] | undefined {
  const value = settings[name]
  return Array.isArray(value) ? value.filter(one => typeof one === 'string') : undefined
}
