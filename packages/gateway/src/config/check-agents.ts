/** `agents`: names, a model that exists, tools that a plugin offers, workspaces that no two agents share. */
import { dirname } from 'node:path'
import {
  type AgentSection,
  type ConfigDocument,
  type Place,
  RESERVED_TOOL_NAMES,
  TOOL_NAME,
} from '@beige/protocol'
import { checkModels, limitsOf } from './check-models.ts'
import { type CheckedPlugins, checkPluginConfig } from './check-plugins.ts'
import { checkSandbox } from './check-sandbox.ts'
import { MENDED } from './mend.ts'
import { nearestName, type Report } from './report.ts'
import type { AgentConfig } from './resolved.ts'
import type { Surroundings } from './surroundings.ts'
import { isWithin } from './within.ts'

const DEFAULT_TURNS_PER_PROMPT = 200

export async function checkAgents(
  document: ConfigDocument,
  plugins: CheckedPlugins,
  around: Surroundings,
  report: Report,
): Promise<AgentConfig[]> {
  const agents: AgentConfig[] = []
  const workspaces: Workspace[] = []
  for (const [name, section] of Object.entries(document.agents)) {
    const place = ['agents', name]
    report.name(place, name)
    const models = await checkModels(section, document, place, around, report)
    const tools = checkTools(section.tools, plugins, [...place, 'tools'], report)
    const pluginConfigs = mergedConfigs(section, plugins, tools, [...place, 'pluginConfigs'], report)
    const workspaceDir = checkWorkspace(section, [...place, 'workspaceDir'], workspaces, around, report)
    agents.push({
      name,
      ...models,
      budget: limitsOf(section.budget),
      turnsPerPrompt: section.budget?.turnsPerPrompt ?? DEFAULT_TURNS_PER_PROMPT,
      tools,
      pluginConfigs,
      workspaceDir,
      instructionsFile: checkInstructions(section, [...place, 'instructionsFile'], around, report),
      sandbox: checkSandbox(section.sandbox ?? {}, [...place, 'sandbox'], around, report),
    })
  }
  if (agents.length === 0) report.addKey(['agents'], 'no agent is configured')
  return agents
}

function checkTools(
  entries: readonly string[],
  plugins: CheckedPlugins,
  place: Place,
  report: Report,
): string[] {
  const offered = new Map(
    plugins.enabled.flatMap(plugin => (plugin.manifest.tools ?? []).map(tool => [tool.name, tool] as const)),
  )
  const names: string[] = []
  for (const [index, entry] of entries.entries()) {
    const at = [...place, index]
    if (entry === MENDED) continue
    const [name = '', target, ...more] = entry.split('@')
    const pluginName = name.split('.')[0] ?? ''
    if (RESERVED_TOOL_NAMES.includes(name))
      report.add(at, `"${name}" is no plugin's tool; read, write, patch and exec are always there`)
    else if (!TOOL_NAME.test(name) || more.length > 0) report.add(at, `"${entry}" is no tool name`)
    else if (plugins.disabled.has(pluginName)) report.add(at, `plugin "${pluginName}" is not enabled`)
    else if (names.includes(name)) report.add(at, `"${name}" is listed twice`)
    else if (target !== undefined && target !== 'gateway')
      report.add(at, `${name} does not offer the target "${target}"`, nearestName(target, ['gateway']))
    else if (!offered.has(name) && !isUnread(pluginName, plugins))
      report.add(at, `no plugin offers "${name}"`, nearestName(name, offered.keys()))
    names.push(name)
  }
  return names
}

/** A plugin that could not be read has its own error; whether it offers a tool is not known. */
function isUnread(name: string, plugins: CheckedPlugins): boolean {
  return plugins.declared.includes(name) && !plugins.enabled.some(plugin => plugin.name === name)
}

/** Objects are merged key by key, arrays and scalars replace. */
export function mergeConfig(base: unknown, override: unknown): unknown {
  if (!isRecord(base) || !isRecord(override)) return override
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(override))
    merged.set(key, merged.has(key) ? mergeConfig(merged.get(key), value) : value)
  return Object.fromEntries(merged)
}

function mergedConfigs(
  section: AgentSection,
  plugins: CheckedPlugins,
  tools: readonly string[],
  place: Place,
  report: Report,
): Record<string, Readonly<Record<string, unknown>>> {
  const overrides = section.pluginConfigs ?? {}
  for (const name of Object.keys(overrides)) {
    if (!plugins.declared.includes(name))
      report.addKey(
        [...place, name],
        `no plugin "${name}" is configured`,
        nearestName(name, plugins.declared),
      )
    else if (!tools.some(tool => tool.split('.')[0] === name))
      report.addKey([...place, name], `the agent has no tool of "${name}", so this does nothing`)
  }
  return Object.fromEntries(
    plugins.enabled.map(plugin => {
      const override = Object.hasOwn(overrides, plugin.name) ? overrides[plugin.name] : undefined
      if (override === undefined) return [plugin.name, plugin.config]
      const merged = mergeConfig(plugin.config, override)
      const config = isRecord(merged) ? merged : {}
      checkPluginConfig(plugin.manifest, config, [...place, plugin.name], report, override)
      return [plugin.name, config]
    }),
  )
}

type Workspace = { agent: string; path: string }

function checkWorkspace(
  section: AgentSection,
  place: Place,
  others: Workspace[],
  around: Surroundings,
  report: Report,
): string | null {
  if (section.workspaceDir === undefined) return null
  const path = report.path(place, section.workspaceDir)
  if (path === null) return null
  const real = around.canonical(path)
  const home = around.canonical(around.beigeHome)
  if (isWithin(real, home) || isWithin(home, real))
    report.add(place, `${path} and the home ${around.beigeHome} may not hold one another`)
  if (dirname(real) === real) report.add(place, 'the root of the file system is no workspace')
  for (const other of others)
    if (isWithin(real, other.path) || isWithin(other.path, real))
      report.add(place, `shares or nests with the workspace of "${other.agent}" (${other.path})`)
  others.push({ agent: String(place[1]), path: real })
  return path
}

function checkInstructions(
  section: AgentSection,
  place: Place,
  around: Surroundings,
  report: Report,
): string | null {
  if (section.instructionsFile === undefined) return null
  const path = report.path(place, section.instructionsFile)
  if (path !== null && !around.fileExists(path)) report.add(place, `${path} is not there`)
  return path
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
