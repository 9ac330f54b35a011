/** `plugins`: each folder has a valid manifest of that name, and its configuration fits the plugin's own schema. */

import type { PluginManifest } from '@beige/plugin-sdk'
import { type ConfigDocument, messageOf, type Place } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { nearestName, type Report } from './report.ts'
import type { PluginConfig } from './resolved.ts'
import type { Surroundings } from './surroundings.ts'
import { placeOf, valueAt } from './validate.ts'

export const BEIGE_API = '1' // what `engines.beige` of a manifest must allow

export type CheckedPlugins = {
  enabled: readonly PluginConfig[]
  /** Every name in the file, also those with mistakes. */
  declared: readonly string[]
  disabled: ReadonlySet<string>
}

export function checkPlugins(document: ConfigDocument, around: Surroundings, report: Report): CheckedPlugins {
  const enabled: PluginConfig[] = []
  const disabled = new Set<string>()
  const sections = document.plugins ?? {}
  for (const [name, section] of Object.entries(sections)) {
    const place = ['plugins', name]
    report.name(place, name)
    if (section.enabled === false) {
      disabled.add(name)
      continue
    }
    const folder = report.path([...place, 'path'], section.path)
    if (folder === null) continue
    const manifest = around.readManifest(folder)
    if (!manifest.ok) {
      report.add([...place, 'path'], manifest.reason)
      continue
    }
    checkManifest(manifest.value, name, [...place, 'path'], report)
    const config = { ...manifest.value.defaultConfig, ...section.config }
    checkPluginConfig(manifest.value, config, [...place, 'config'], report)
    enabled.push({ name, folder, manifest: manifest.value, config, required: section.required ?? false })
  }
  return { enabled, declared: Object.keys(sections), disabled }
}

function checkManifest(manifest: PluginManifest, name: string, place: Place, report: Report): void {
  if (manifest.name !== name) report.add(place, `its plugin.json names it "${manifest.name}"`)
  if (manifest.engines.beige !== BEIGE_API)
    report.add(place, `its plugin.json is for beige ${manifest.engines.beige}, this one offers ${BEIGE_API}`)
  const names = (manifest.tools ?? []).map(tool => tool.name)
  for (const [index, tool] of names.entries()) {
    if (names.indexOf(tool) < index) report.add(place, `its plugin.json lists the tool "${tool}" twice`)
    if (tool !== manifest.name && !tool.startsWith(`${manifest.name}.`))
      report.add(place, `its tool "${tool}" is neither "${manifest.name}" nor "${manifest.name}.<name>"`)
  }
}

/**
 * `config` is checked by the plugin's schema; what is wrong is reported at the key that the file has. Of a merged one
 * only what stems from `override`: the rest was reported where it is.
 */
export function checkPluginConfig(
  manifest: PluginManifest,
  config: Readonly<Record<string, unknown>>,
  place: Place,
  report: Report,
  override: unknown = config,
): void {
  if (manifest.configSchema === undefined) {
    for (const key of Object.keys(isRecord(override) ? override : {}))
      report.addKey([...place, key], `unknown key; ${manifest.name} takes no configuration`)
    return
  }
  try {
    for (const error of compile(manifest.configSchema).errors(config)) {
      const steps = placeOf(error.path, config)
      if (error.keyword !== 'required' && valueAt(override, steps) === undefined) continue
      const known = manifest.configSchema.properties
      const names = typeof known === 'object' && known !== null ? Object.keys(known) : []
      const isUnknown = error.keyword === 'additionalProperties'
      const text = isUnknown ? `unknown key of ${manifest.name}` : error.message
      const guess = isUnknown ? nearestName(String(steps.at(-1)), names) : undefined
      report.addKey([...place, ...steps], text, guess)
    }
  } catch (error) {
    report.add(place, `the configSchema of ${manifest.name} is no JSON Schema: ${messageOf(error)}`)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
