/** One configured agent while the gateway runs: its sandbox, tool socket, pipeline and sessions. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  createPipeline,
  type Locks,
  type Policy,
  readContextFiles,
  systemPrompt,
  type Tool,
  toolset,
} from '@beige/harness'
import { createHost, type MakeSetup, type SessionHost, type SessionSetup } from '@beige/host'
import { type ModelRouter, warmUp } from '@beige/models'
import type { Clock, Random } from '@beige/protocol'
import { type DriverOptions, makeWorkspace } from '@beige/sandbox'
import { createFilesStore, type SessionStore } from '@beige/sessions'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Redactor } from '../audit/redactor.ts'
import { nameOf } from '../config/check-models.ts'
import type { AgentConfig } from '../config/resolved.ts'
import { type Layout, makeFolder } from '../home/layout.ts'
import { reasoningOf, scopeOfAgent } from '../lifecycle/model-router.ts'
import type { PluginSupervisor } from '../plugins/plugin-supervisor.ts'
import { pluginTool } from '../plugins/plugin-tool.ts'
import { createAgentPolicy } from '../policy/agent-policy.ts'
import type { CallTokens } from '../tool-socket/call-tokens.ts'
import { runLauncherCall } from '../tool-socket/launcher-calls.ts'
import { writeLaunchers } from '../tool-socket/launchers.ts'
import { openToolSocket, type ToolSocket } from '../tool-socket/listener.ts'
import { type AgentSandbox, createAgentSandbox } from './agent-sandbox.ts'
import { createCallBook } from './call-book.ts'

const WORKSPACE = '/workspace'

export type AgentParts = {
  agent: AgentConfig
  layout: Layout
  router: ModelRouter
  plugins: readonly PluginSupervisor[]
  tokens: CallTokens
  audit: AuditLog
  auditArgs: 'redacted' | 'hash'
  redact: Redactor
  locks: Locks
  drivers: DriverOptions
  clock: Clock
  random: Random
  log(text: string): void
}

export interface Agent {
  readonly name: string
  readonly config: AgentConfig
  readonly sandbox: AgentSandbox
  readonly store: SessionStore
  readonly host: SessionHost
  readonly workdir: string
  /** Listens on the tool socket; before the sandbox starts, which looks for it. */
  listen(): Promise<void>
  closeSocket(): Promise<void>
}

export function createAgent(parts: AgentParts): Agent {
  const { agent, clock, random } = parts
  const layout = parts.layout.agent(agent.name)
  const workspaceDir = agent.workspaceDir ?? layout.workspace
  makeFolder(layout.root)
  makeWorkspace(workspaceDir)
  writeLaunchers(layout.launchers, agent.tools)

  const book = createCallBook({
    agent: agent.name,
    tokens: parts.tokens,
    log: parts.audit,
    redact: parts.redact,
    args: parts.auditArgs,
  })
  const core = toolset('core')
  const launchers = launcherTools(parts)
  const policy: Policy = createAgentPolicy(agent)
  const pipeline = createPipeline({
    tools: [...core, ...launchers],
    policy,
    audit: book.audit,
    clock,
    locks: parts.locks,
  })
  const sandbox = createAgentSandbox({
    agent,
    home: parts.layout.home,
    layout,
    workspaceDir,
    drivers: parts.drivers,
    clock,
    log: parts.log,
  })
  const workdirNow = () =>
    sandbox.hands.sandbox?.workspace ?? (agent.sandbox.driver === 'host' ? workspaceDir : WORKSPACE)
  const router = parts.router.for(scopeOfAgent(agent))
  const model = modelOf(router, agent)
  const store = createFilesStore({ root: join(layout.root, 'sessions'), clock, random })

  const makeSetup: MakeSetup = async session => {
    const { meta } = session.state().session
    const key = fieldOf(meta, 'key') ?? `socket:${agent.name}`
    const channel = fieldOf(meta, 'channel')
    return {
      router,
      model: model.model,
      maxSteps: agent.turnsPerPrompt,
      ...(model.reasoning === undefined ? {} : { reasoning: model.reasoning }),
      tools: core,
      pipeline,
      hands: sandbox.hands,
      get workdir() {
        return workdirNow()
      },
      openRun: 'resume',
      callEnv: (callId, runId) =>
        book.openModelCall(
          callId,
          {
            session: session.log.id,
            run: runId,
            channel,
            model: nameOf(agent.model),
          },
          key,
        ),
      systemPrompt: async (signal, hands) => {
        const { exec, workspace } = await hands.open(signal)
        return systemPrompt({
          workdir: workspace,
          launchers: launchers.map(({ name, description }) => ({ name, description })),
          // The operator's own words, from the host: no agent can write there.
          ...(agent.instructionsFile === null
            ? {}
            : { instructions: readFileSync(agent.instructionsFile, 'utf8').trim() }),
          notes: await readContextFiles(exec, workspace, signal),
        })
      },
      promptContext: async () =>
        `<context>\ndate: ${new Date(clock.now()).toISOString().slice(0, 10)}\n</context>`,
    }
  }
  const host = createHost({ store, makeSetup, clock, random })
  let socket: ToolSocket | null = null

  return {
    name: agent.name,
    config: agent,
    sandbox,
    store,
    host,
    get workdir() {
      return workdirNow()
    },
    async listen() {
      socket = await openToolSocket({
        agent: agent.name,
        path: layout.toolSocket,
        user: otherUser(workspaceDir),
        log: parts.log,
        identify: token => {
          const found = parts.tokens.find(agent.name, token)
          if (typeof found !== 'string') return found
          refused(parts, found)
          return null
        },
        run: call =>
          runLauncherCall(
            {
              agent: agent.name,
              pipeline,
              hands: sandbox.hands,
              clock,
              random,
              workdir: workdirNow(),
              calls: book.launchers,
            },
            call,
          ),
      })
    },
    closeSocket: async () => socket?.close(),
  }
}

/** A token that is not this agent's: written down, whatever else happens. */
function refused(parts: AgentParts, why: 'foreign' | 'unknown'): void {
  const body = {
    phase: 'note' as const,
    id: `token-${parts.clock.now()}`,
    agent: parts.agent.name,
    type: 'tool' as const,
    event: 'identity_mismatch',
    details: { token: why },
  }
  parts.audit.append(body).catch(error => parts.log(`audit: ${String(error)}`))
}

function launcherTools(parts: AgentParts): Tool[] {
  const { agent } = parts
  return parts.plugins.flatMap(supervisor =>
    (supervisor.plugin.manifest.tools ?? [])
      .filter(entry => agent.tools.includes(entry.name))
      .map(entry =>
        pluginTool(entry, supervisor, {
          name: agent.name,
          config: agent.pluginConfigs[supervisor.plugin.name] ?? {},
        }),
      ),
  )
}

/** The provider's library loads before the first prompt; what fails there fails again, with its reason, when it is used. */
function modelOf(router: ModelRouter, agent: AgentConfig): Pick<SessionSetup, 'model' | 'reasoning'> {
  const model = router.resolve(nameOf(agent.model))
  warmUp(model).catch(() => undefined)
  return { model, ...reasoningOf(agent.model.thinkingLevel) }
}

/** Who runs commands, where that is somebody else than we: the owner of the workspace. */
function otherUser(workspaceDir: string): { uid: number; gid: number } | null {
  const { uid, gid } = statSync(workspaceDir)
  if (uid === process.geteuid?.()) return null
  return { uid, gid: gid === 0 ? uid : gid }
}

function fieldOf(meta: object | undefined, name: string): string | null {
  const value: unknown = meta === undefined ? null : Object.getOwnPropertyDescriptor(meta, name)?.value
  return typeof value === 'string' ? value : null
}
