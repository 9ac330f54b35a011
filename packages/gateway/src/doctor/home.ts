/** What the home brings: its modes, the configuration, the agents' workspaces, the audit chain, the gateway itself. */
import { existsSync, statSync } from 'node:fs'
import { verdictText, verifyAudit } from '../audit/verify.ts'
import { knownModels } from '../config/known-models.ts'
import { loadConfig } from '../config/load.ts'
import { countText } from '../config/problem.ts'
import type { AgentConfig } from '../config/resolved.ts'
import { realSurroundings } from '../config/surroundings.ts'
import type { Layout } from '../home/layout.ts'
import { type Finding, missing, ok, warning } from './finding.ts'

const WIDE = 0o077

export async function homeFindings(
  layout: Layout,
  configFile: string,
  env: Record<string, string | undefined>,
): Promise<Finding[]> {
  if (!existsSync(layout.home)) {
    return [
      warning('home', `${layout.home} is not there yet`, `Write ${configFile}, then: beige gateway start`),
    ]
  }
  const isWide = (statSync(layout.home).mode & WIDE) !== 0
  const home = isWide
    ? missing('home', `${layout.home} can be read by others`, `chmod 700 ${layout.home}`)
    : ok('home', layout.home)
  return [home, ...(await configFindings(layout, configFile, env)), ...auditFindings(layout)]
}

async function configFindings(
  layout: Layout,
  file: string,
  env: Record<string, string | undefined>,
): Promise<Finding[]> {
  if (!existsSync(file))
    return [warning('config', `${file} is not there`, 'docs/gateway.md has one to begin with')]
  const loaded = await loadConfig(
    file,
    realSurroundings({ env, beigeHome: layout.home, models: knownModels }),
  )
  if (!loaded.ok) {
    const count = countText(loaded.lines.length, 'the gateway would not start')
    return [missing('config', `${file}: ${count}`, 'beige config check names each')]
  }
  return [ok('config', file), ...loaded.config.agents.flatMap(agent => workspaceFindings(agent, layout))]
}

function workspaceFindings(agent: AgentConfig, layout: Layout): Finding[] {
  const folder = agent.workspaceDir ?? layout.agent(agent.name).workspace
  if (!existsSync(folder)) return []
  if (statSync(folder).uid !== 0) return [ok('workspace', `${agent.name}: ${folder}`)]
  const advice = `Agents run as the owner, and never as root: chown -R 10001:10001 ${folder}`
  return [missing('workspace', `${agent.name}: ${folder} is owned by root`, advice)]
}

function auditFindings(layout: Layout): Finding[] {
  if (!existsSync(layout.audit)) return []
  const verdict = verifyAudit(layout.audit)
  const text = verdictText(verdict)
  return [
    verdict.ok ? ok('audit', text) : missing('audit', text, 'beige audit verify says where; keep a copy'),
  ]
}
