/** The one sandbox of an agent: made at the start, looked at from inside, tried again by itself while it can not be made. */
import { createHash } from 'node:crypto'
import { type SandboxHands, sandboxHands } from '@beige/harness'
import { type Clock, explain, isError, messageOf } from '@beige/protocol'
import {
  chooseDriver,
  type DriverChoice,
  type DriverOptions,
  type Inspection,
  type SandboxSpec,
} from '@beige/sandbox'
import type { AgentConfig } from '../config/resolved.ts'
import { fail } from '../errors.ts'
import type { AgentLayout } from '../home/layout.ts'

const OPEN_TIMEOUT_MS = 120_000
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000

export type SandboxState =
  | { state: 'starting' }
  | { state: 'ready'; place: string; driver: string; uid: number }
  | { state: 'unavailable'; reason: string; retryInMs: number }
  | { state: 'closed' }

export interface AgentSandbox {
  readonly hands: SandboxHands
  state(): SandboxState
  /** Resolves when the first try has ended, well or not. */
  start(): Promise<void>
  /** Ends the sandbox and everything in it; `keep` lets go of it alone. */
  close(keep: boolean): Promise<void>
}

export function createAgentSandbox(parts: {
  agent: AgentConfig
  home: string
  layout: AgentLayout
  workspaceDir: string
  drivers: DriverOptions
  clock: Clock
  log(text: string): void
}): AgentSandbox {
  const { agent, clock } = parts
  const choice = choiceOf(agent)
  const hands = sandboxHands(signal => chooseDriver(choice, signal, parts.drivers), specOf(parts), {
    clock,
    idlePauseMs: agent.sandbox.idlePauseMs,
  })
  const closing = new AbortController()
  let state: SandboxState = { state: 'starting' }
  let retrying: Promise<void> = Promise.resolve()

  async function attempt(): Promise<void> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(OPEN_TIMEOUT_MS)])
    await hands.open(signal)
    const found = await hands.sandbox?.inspect(signal)
    if (!found) throw fail('agent_unavailable', { agent: agent.name, reason: 'its sandbox was lost' })
    const weakness = weaknessOf(found, agent)
    if (weakness !== null) {
      await hands.close()
      throw fail('agent_unavailable', { agent: agent.name, reason: weakness })
    }
    state = { state: 'ready', place: found.place, driver: found.driver, uid: found.uid }
    parts.log(`agent ${agent.name}: ${found.place}, uid ${found.uid}`)
  }

  /** Tries until it holds or the gateway stops; the first try's end is told. */
  async function keepTrying(firstEnded: () => void): Promise<void> {
    for (
      let waitMs = FIRST_WAIT_MS;
      !closing.signal.aborted;
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)
    ) {
      try {
        await attempt()
        return
      } catch (error) {
        if (closing.signal.aborted) return
        const reason = isError(error) ? explain(error) : messageOf(error)
        state = { state: 'unavailable', reason, retryInMs: waitMs }
        parts.log(`agent ${agent.name} is unavailable: ${reason}`)
      } finally {
        firstEnded()
      }
      await clock.sleep(waitMs, closing.signal).catch(() => undefined)
    }
  }

  return {
    hands,
    state: () => state,
    start: () =>
      new Promise(resolve => {
        retrying = keepTrying(resolve)
      }),
    async close(keep) {
      closing.abort(fail('unavailable'))
      await retrying
      state = { state: 'closed' }
      await (keep ? hands.detach() : hands.close())
    },
  }
}

function choiceOf({ sandbox }: AgentConfig): DriverChoice {
  if (sandbox.driver === null) return { kind: 'auto' }
  if (sandbox.driver === 'remote') return { kind: 'remote', url: sandbox.url ?? '', headers: sandbox.headers }
  return { kind: sandbox.driver }
}

function specOf(parts: Parameters<typeof createAgentSandbox>[0]): SandboxSpec {
  const { agent, layout } = parts
  const home = createHash('sha256').update(parts.home).digest('hex').slice(0, 8)
  return {
    id: `${home}-${agent.name}`,
    labels: { 'beige.home': home, 'beige.agent': agent.name },
    workspaceDir: parts.workspaceDir,
    runDir: layout.root,
    socketsDir: layout.sockets,
    launchersDir: layout.launchers,
    mounts: agent.sandbox.mounts,
    env: agent.sandbox.env,
    network: agent.sandbox.network,
    limits: agent.sandbox.limits,
    ...(agent.sandbox.image === null ? {} : { image: agent.sandbox.image }),
  }
}

/** What is in force, read back, against what has to be; a mismatch stops the agent (security.md, hardening). */
function weaknessOf(found: Inspection, agent: AgentConfig): string | null {
  if (found.driver === 'host' || found.driver === 'remote') return null // asked for by name, with its own walls
  if (found.uid === 0) return 'its commands would run as root'
  if (!/^0*$/.test(found.capabilities)) return `its commands would have capabilities (${found.capabilities})`
  if (!found.noNewPrivileges) return 'its commands could gain privileges'
  if (found.network === 'open' && agent.sandbox.network === 'none') return 'it has a network'
  return null
}
