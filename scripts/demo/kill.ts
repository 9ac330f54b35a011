/**
 * `npm run demo -- kill`: an agent is killed with -9 in the middle of a command that writes a ledger. The command goes on in its
 * sandbox, a second process takes the run over and joins it, and the ledger has each line once.
 */
import { spawn } from 'node:child_process'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { createTranscript, plural, type Terminal } from '@beige/client'
import { type AgentEvent, agentEvent, systemClock } from '@beige/protocol'
import { makeWorkspace } from '@beige/sandbox'
import { compile } from '@earendil-works/pi-schema'
import { checked, labelled, StepFailed, step } from './checklist.ts'
import { scriptedModel } from './model.ts'
import { demoDriver } from './sandbox.ts'

const TASK = 'Write ten lines into ledger.txt, slowly.'
const LINES = 10
const KILLED_AT = 3 // lines in the ledger
const SHOWN_AT = 5 // lines, written while no agent is there
const SESSION = 's_demo-kill'
const POLL_MS = 20
const DEADLINE_MS = 60_000

const isEvent = compile(agentEvent).check

export type KillDemoParts = { root: string; terminal: Terminal; builtExecd(): Promise<string> }

export async function killDemo({ root, terminal, builtExecd }: KillDemoParts): Promise<number> {
  const say = (line: string) => terminal.write(`${line}\n`)
  const room = ' '.repeat(Math.max(4, Math.min(54, terminal.width - 40)))
  say(`\n  Beige demo: kill${room}no account needed\n`)
  await step(terminal, 'execd', 'building', async () => ({ text: await builtExecd(), value: null }))
  const driver = await demoDriver(new AbortController().signal)
  checked(terminal, 'sandbox', `${driver}, not root, no network`)
  const model = await scriptedModel(root, 'kill-demo-script.ts')
  checked(terminal, 'model', 'scripted')
  try {
    return await killed({ root, terminal, say, driver, modelUrl: model.url })
  } finally {
    model.stop()
  }
}

type Stage = { root: string; terminal: Terminal; say(line: string): void; driver: string; modelUrl: string }

async function killed(stage: Stage): Promise<number> {
  const { terminal, say } = stage
  const home = join(stage.root, '.cache/demo-kill')
  const workspace = join(home, 'workspace')
  await endLeft(stage, home, workspace)
  await mkdir(home, { recursive: true, mode: 0o711 }) // the agent's user goes through it
  makeWorkspace(workspace)
  const start = (...args: string[]) => startAgent(stage, home, workspace, args)

  say('')
  labelled(terminal, '  you      ', TASK)
  const first = start(TASK)
  await untilLines(workspace, KILLED_AT, first)
  first.child.kill('SIGKILL')
  await first.ended
  say('')
  labelled(
    terminal,
    '  ✗ ',
    `kill -9 ${first.child.pid}: the agent is gone, ${countText(await ledger(workspace))}`,
  )
  await untilLines(workspace, SHOWN_AT, null)
  labelled(terminal, '  ✓ ', `the command goes on without it: ${countText(await ledger(workspace))}`)
  const second = start('--resume')
  labelled(
    terminal,
    '  ✓ ',
    `process ${second.child.pid} takes over: agent run --session-id ${SESSION} --resume`,
  )
  say('')
  const end = await second.ended
  if (end.code !== 0)
    throw new StepFailed('takeover', end.stderr.trim() || `exit ${end.code}`, 'Run it again')

  const lines = await ledger(workspace)
  say('')
  labelled(terminal, '  ledger   ', lines.join(' · '))
  labelled(terminal, '  session  ', near(join(home, 'sessions', SESSION)))
  const expected = Array.from({ length: LINES }, (_none, index) => `line ${index + 1}`)
  if (lines.join() !== expected.join() || !first.calls.has(second.lastCall()))
    throw new StepFailed('ledger', 'it is not each line once, by one call', 'Please report it')
  say(`\ndemo kill: ok (${stage.driver}, ${LINES} lines, each once, 2 processes, 1 command)`)
  return 0
}

type AgentProcess = {
  child: ReturnType<typeof spawn>
  /** Ids of the calls that it showed. */
  calls: ReadonlySet<string>
  lastCall(): string
  ended: Promise<{ code: number | null; stderr: string }>
}

function startAgent(stage: Stage, home: string, workspace: string, args: readonly string[]): AgentProcess {
  const main = join(stage.root, 'packages/agent/src/main.ts')
  const fixed = ['--conditions=beige-source', main, 'run', '--json', '--session-id', SESSION]
  const child = spawn(process.execPath, [...fixed, '--sandbox', stage.driver, ...args], {
    cwd: workspace,
    env: agentEnv(home, stage.modelUrl),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const transcript = createTranscript({ terminal: stage.terminal, clock: systemClock, speaker: 'agent' })
  const calls = new Set<string>()
  const shown = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      const event = eventIn(line)
      if (event?.kind === 'tool_start') calls.add(event.id)
      if (event) transcript.event(event)
    }
    transcript.end()
  })()
  const exit = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  const stderr = text(child.stderr)
  return {
    child,
    calls,
    lastCall: () => [...calls].at(-1) ?? 'none',
    ended: Promise.all([exit, stderr, shown]).then(([code, said]) => ({ code, stderr: said })),
  }
}

/** Nothing that would lead to another model, and no key. */
function agentEnv(home: string, modelUrl: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/(_API_KEY|_BASE_URL)$|^AI_/.test(name))
  const model = { AI_BASE_URL: modelUrl, AI_PROVIDER: 'anthropic', AI_API_KEY: 'none' }
  return { ...Object.fromEntries(own), BEIGE_HOME: home, ...model }
}

/** A line that a killed process did not finish is none. */
function eventIn(line: string): AgentEvent | null {
  try {
    const value: unknown = JSON.parse(line)
    return isEvent(value) ? value : null
  } catch {
    return null
  }
}

async function ledger(workspace: string): Promise<string[]> {
  const written = await readFile(join(workspace, 'ledger.txt'), 'utf8').catch(() => '')
  return written.split('\n').slice(0, -1)
}

const countText = (lines: readonly string[]) => `${plural(lines.length, 'line')} of ${LINES} in the ledger`

/** Nobody tells when a command in a sandbox has written a line. */
async function untilLines(workspace: string, count: number, writer: AgentProcess | null): Promise<void> {
  const end = systemClock.monotonic() + DEADLINE_MS
  while ((await ledger(workspace)).length < count) {
    const early = writer?.child.exitCode
    if (typeof early === 'number')
      throw new StepFailed('agent', (await writer?.ended)?.stderr.trim() ?? '', 'Run it again')
    if (systemClock.monotonic() > end)
      throw new StepFailed('ledger', `it did not get ${count} lines`, 'Run it again')
    await pause(POLL_MS)
  }
}

/** What a demo that was stopped has left: its run is gone on with, which ends its sandbox. */
async function endLeft(stage: Stage, home: string, workspace: string): Promise<void> {
  const left = await readFile(join(workspace, 'ledger.txt'), 'utf8').catch(() => null)
  if (left !== null) await startQuietly(stage, home, workspace)
  await rm(home, { recursive: true, force: true })
}

async function startQuietly(stage: Stage, home: string, workspace: string): Promise<void> {
  const silent: Terminal = { ...stage.terminal, write: () => {}, live: false }
  await startAgent({ ...stage, terminal: silent }, home, workspace, ['--resume']).ended
}

/** As it is typed from here, where that is shorter. */
function near(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.length < path.length ? fromHere : path
}
