/** Flags of `run` and `serve` with their variables: flag before variable before default (agent-cli.md). */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isSessionId, type SessionId } from '@beige/protocol'
import { fail } from './errors.ts'
import { type ModelOptions, modelOptions, type RawModelOptions } from './models/model-options.ts'
import type { ProcessWorld } from './process-world.ts'
import { type SandboxChoice, sandboxChoice } from './sandbox-choice.ts'
import { type RawSealingOptions, type SealingChoice, sealingChoice } from './sealing-choice.ts'
import { readSettings, type Settings, settingsPath, textSetting } from './settings/settings.ts'
import { type StoreChoice, storeChoice } from './store-choice.ts'

const MAX_MS = 2 ** 31 - 1
export const DEFAULT_IMAGE = 'beige-sandbox:latest'

/** As commander gives them. */
export type RawOptions = RawModelOptions &
  RawSealingOptions & {
    sandbox?: string
    sandboxImage?: string
    execUrl?: string
    execHeader?: string[]
    sessionId?: string
    name?: string
    outputSchema?: string
    outputDescription?: string
    continue?: boolean
    resume?: boolean
    sessionDir?: string
    store?: string
    sessionPersistence?: boolean
    maxSteps?: string
    bashSilentMs?: string
    jobLifetimeMs?: string
    onJobEnd?: string
    notifyOrigin?: string
    systemPrompt?: string
    idempotencyKey?: string
    json?: boolean
  }

export type AgentOptions = ModelOptions & {
  sandbox: SandboxChoice
  sandboxImage: string
  /** Exactly this session, or a new one with this id. */
  sessionId: SessionId | null
  /** Title of a new session; null: the first line of its first prompt. */
  title: string | null
  /** The newest session of this directory, else a new one. */
  continue: boolean
  /** Go on with a run that its owner left open, instead of closing it. */
  resume: boolean
  stateDir: string
  sessionDir: string
  store: StoreChoice
  /** The keys that sessions are sealed with; null: they are plain. */
  sealing: SealingChoice | null
  persistent: boolean
  maxSteps: number | null
  /** As they differ from the harness's own. */
  jobTimes: { silentMs?: number; lifetimeMs?: number }
  /** A job that ends while no run is there: told at the next one, or begins one. */
  onJobEnd: 'note' | 'wake'
  /** Where sandboxes report that a job has ended, without a path; null: nowhere. */
  notifyOrigin: string | null
  systemPrompt: string | null
  idempotencyKey: string | null
}

/** Where everything of the agent is kept. */
export function stateDirOf({ env, cwd }: Pick<ProcessWorld, 'env' | 'cwd'>): string {
  const home = env.BEIGE_HOME || join(env.HOME || homedir(), '.beige')
  return resolve(cwd, env.AI_AGENT_CONFIG_DIR || home)
}

export function agentOptions(raw: RawOptions, world: Pick<ProcessWorld, 'env' | 'cwd'>): AgentOptions {
  const { env, cwd } = world
  const stateDir = stateDirOf(world)
  // An empty variable is one that is not set, as in a unit file that clears it.
  const variable = (name: string) => env[name.startsWith('AI_') ? name : `AI_AGENT_${name}`] || undefined
  const settings = readSettings(settingsPath(stateDir))
  const store = storeChoice(raw, variable)
  return {
    ...modelOptions(raw, variable, settings),
    sandbox: sandboxChoice(raw, name => variable(name) ?? settingOf(name, settings)),
    sandboxImage:
      raw.sandboxImage ??
      variable('SANDBOX_IMAGE') ??
      textSetting(settings, 'sandbox_image') ??
      DEFAULT_IMAGE,
    sessionId: raw.sessionId === undefined ? null : sessionId(raw.sessionId),
    title: raw.name === undefined ? null : title(raw.name),
    continue: raw.continue ?? false,
    resume: raw.resume ?? false,
    stateDir,
    sessionDir: resolve(
      cwd,
      raw.sessionDir ??
        variable('SESSION_DIR') ??
        textSetting(settings, 'session_dir') ??
        join(stateDir, 'sessions'),
    ),
    store,
    sealing: sealingChoice(raw, variable),
    persistent: store.kind !== 'memory',
    maxSteps: raw.maxSteps === undefined ? null : positive('--max-steps', raw.maxSteps),
    jobTimes: {
      ...(raw.bashSilentMs === undefined
        ? {}
        : { silentMs: milliseconds('--bash-silent-ms', raw.bashSilentMs) }),
      ...(raw.jobLifetimeMs === undefined
        ? {}
        : { lifetimeMs: milliseconds('--job-lifetime-ms', raw.jobLifetimeMs) }),
    },
    onJobEnd: onJobEnd(raw.onJobEnd ?? variable('ON_JOB_END') ?? 'note'),
    notifyOrigin: notifyOrigin(raw.notifyOrigin ?? variable('NOTIFY_ORIGIN') ?? null),
    systemPrompt: raw.systemPrompt ?? variable('SYSTEM_PROMPT') ?? null,
    idempotencyKey: idempotencyKey(raw),
  }
}

/** Of a prompt the key and its place among the tasks; the log takes 128 characters. */
function idempotencyKey({ idempotencyKey: key, sessionId: id }: RawOptions): string | null {
  if (key === undefined) return null
  const name = '--idempotency-key'
  if (!/^[A-Za-z0-9._:-]{1,120}$/.test(key)) {
    const reason = `${JSON.stringify(key)} is no key`
    throw fail('bad_value', { name, reason, expected: '1 to 120 of A-Z a-z 0-9 . _ : -' })
  }
  if (id !== undefined) return key
  throw fail('bad_value', { name, reason: 'it belongs to one session', expected: 'a --session-id beside it' })
}

/** An endpoint's URL is in no settings: only the driver's name is. */
function settingOf(name: string, settings: Settings): string | undefined {
  return name === 'SANDBOX' ? textSetting(settings, 'sandbox') : undefined
}

function title(text: string): string {
  const name = text.trim().replaceAll(/\s+/g, ' ')
  if (name !== '') return name
  throw fail('bad_value', { name: '--name', reason: 'it is blank', expected: 'a title' })
}

function sessionId(text: string): SessionId {
  if (isSessionId(text)) return text
  throw fail('bad_value', {
    name: '--session-id',
    reason: `${JSON.stringify(text)} is no session id`,
    expected: '1 to 128 of A-Z a-z 0-9 . _ -, without a leading dot',
  })
}

function onJobEnd(text: string): 'note' | 'wake' {
  if (text === 'note' || text === 'wake') return text
  const reason = `${JSON.stringify(text)} is neither`
  throw fail('bad_value', { name: '--on-job-end', reason, expected: 'note or wake' })
}

/** execd speaks plain HTTP here; to anywhere else a relay beside the sandbox carries it. */
function notifyOrigin(text: string | null): string | null {
  if (text === null) return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isOrigin =
    url?.protocol === 'http:' && url.username === '' && url.pathname === '/' && url.search === ''
  if (url && isOrigin && !text.includes('#')) return url.origin
  const reason = `${JSON.stringify(text)} is no origin`
  throw fail('bad_value', { name: '--notify-origin', reason, expected: 'http://host or http://host:port' })
}

/** As exec/2 and timers take it. */
function milliseconds(name: string, text: string): number {
  const value = positive(name, text)
  if (value <= MAX_MS) return value
  throw fail('bad_value', { name, reason: `${text} is too long`, expected: `at most ${MAX_MS}` })
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw fail('bad_value', {
    name,
    reason: `${JSON.stringify(text)} is no number`,
    expected: 'a whole number from 1',
  })
}
