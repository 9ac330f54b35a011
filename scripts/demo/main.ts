/**
 * `npm run demo`: the main job on a bare machine, without an account. A gateway with a scripted model, an agent in a
 * sandbox, a task on a real package, a script that calls a plugin's tool; everything is the real program but the model.
 * `npm run demo -- kill`: what becomes of a command whose agent is killed (kill.ts).
 */
import { join, relative } from 'node:path'
import { createTranscript, plural, type Terminal } from '@beige/client'
import { type Frame, frame, systemClock } from '@beige/protocol'
import { arr, compile, obj, opt, str } from '@earendil-works/pi-schema'
import { auditView } from './audit.ts'
import { checked, labelled, StepFailed, step } from './checklist.ts'
import { lines, said } from './command.ts'
import { AGENT, type DemoHome, demoHome, demoHomeOf } from './home.ts'
import { killDemo } from './kill.ts'
import { type DemoModel, demoModel } from './model.ts'
import { demoDriver } from './sandbox.ts'

const TASK = `semver's README says that coerce() takes a string. Does it take numbers too? If so, fix that line of the docs.
Then write check-all.sh: it stores coerce(1) to coerce(20) with the program kv, one "kv set coerce-N VALUE" each. Run it.`

const root = join(import.meta.dirname, '../..')
const isFrame = compile(frame).check
const isStatus = compile(
  obj(
    { address: str(), agents: arr(obj({ place: opt(str()), reason: opt(str()) }, { open: true })) },
    { open: true },
  ),
).check
const isTerminal = process.stdout.isTTY === true
const terminal: Terminal = {
  write: text => process.stdout.write(text),
  width: process.stdout.columns ?? 80,
  color: isTerminal && (process.env.NO_COLOR ?? '') === '',
  live: isTerminal && process.env.TERM !== 'dumb',
}

const say = (text: string) => terminal.write(`${text}\n`)

async function demo(): Promise<number> {
  const signal = new AbortController().signal
  say(`\n  Beige demo${' '.repeat(Math.max(4, Math.min(60, terminal.width - 34)))}no account needed\n`)
  await step(terminal, 'execd', 'building', async () => ({ text: await builtExecd(), value: null }))
  const driver = await demoDriver(signal)
  const model = await step(terminal, 'model', 'starting', async () => {
    const started = await demoModel(root)
    return { text: started.label, value: started }
  })
  try {
    return await withModel(model, driver)
  } finally {
    model.stop()
  }
}

async function withModel(model: DemoModel, driver: string): Promise<number> {
  const env = { ...process.env, BEIGE_HOME: demoHomeOf(root) }
  const beige = (...args: string[]) => [
    '--conditions=beige-source',
    join(root, 'packages/gateway/src/main.ts'),
    ...args,
  ]
  await said(process.execPath, beige('gateway', 'stop'), { env }) // of a demo that was killed
  const home = await demoHome(root, model, driver)
  const agent = await step(terminal, 'gateway', 'starting', async () => {
    const started = await said(process.execPath, beige('gateway', 'start'), { env })
    if (started.code !== 0)
      throw new StepFailed('gateway', started.stderr || started.stdout, 'See the lines above')
    const status = statusOf(await said(process.execPath, beige('gateway', 'status', '--json'), { env }))
    return {
      text: `${status.address}, audit ${near(join(home.home, 'logs/audit.jsonl'))}`,
      value: status.agent,
    }
  })
  try {
    if (agent.place === null) throw new StepFailed('sandbox', agent.reason, 'See: npm run beige -- doctor')
    checked(terminal, 'sandbox', `${agent.place}, no network`)
    return await conversation(home, driver, args =>
      lines(process.execPath, beige(...args.args), args.onLine, { env }),
    )
  } finally {
    await said(process.execPath, beige('gateway', 'stop'), { env })
  }
}

type DemoAgent = { place: string; reason: null } | { place: null; reason: string }

function statusOf({ stdout }: { stdout: string }): { address: string; agent: DemoAgent } {
  const status: unknown = JSON.parse(stdout)
  if (!isStatus(status)) throw new StepFailed('gateway', 'its status was not understood', 'Please report it')
  const [agent] = status.agents
  const seen: DemoAgent =
    agent?.place === undefined
      ? { place: null, reason: agent?.reason ?? 'the agent has no sandbox' }
      : { place: agent.place, reason: null }
  return { address: status.address, agent: seen }
}

/** As it is typed from here, where that is shorter. */
function near(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.length < path.length ? fromHere : path
}

type Prompting = (call: {
  args: string[]
  onLine: (line: string) => void
}) => Promise<{ code: number | null; stderr: string }>

async function conversation(home: DemoHome, driver: string, prompting: Prompting): Promise<number> {
  say('')
  labelled(terminal, '  you      ', TASK)
  const transcript = createTranscript({ terminal, clock: systemClock, speaker: AGENT })
  const frames: Frame[] = []
  const ended = await prompting({
    args: ['prompt', AGENT, TASK, '--json'],
    onLine: line => {
      const parsed: unknown = JSON.parse(line)
      if (!isFrame(parsed)) return
      frames.push(parsed)
      if (parsed.type === 'event') transcript.event(parsed.event)
    },
  })
  transcript.end()
  const answer = frames.findLast(one => one.type === 'response' && one.command === 'prompt')
  if (ended.code !== 0 || answer?.type !== 'response' || !answer.success) {
    throw new StepFailed(
      'task',
      ended.stderr || (answer?.type === 'response' ? (answer.error ?? '') : ''),
      'Run it again',
    )
  }
  const calls = frames.filter(one => one.type === 'event' && one.event.kind === 'tool_end').length
  const session = frames.flatMap(one => (one.type === 'ready' ? [one.session_id] : []))[0]
  return summary(home, driver, { calls, steps: Number(answer.data?.steps ?? 0), session: session ?? '' })
}

async function summary(
  home: DemoHome,
  driver: string,
  run: { calls: number; steps: number; session: string },
): Promise<number> {
  const audit = await auditView(home.home)
  const verified = await said(
    process.execPath,
    ['--conditions=beige-source', join(root, 'packages/gateway/src/main.ts'), 'audit', 'verify'],
    { env: { ...process.env, BEIGE_HOME: home.home } },
  )
  const chain = verified.code === 0 ? 'chain ok' : `chain broken: ${verified.stdout}${verified.stderr}`
  say('\n  audit')
  for (const line of audit.newest) labelled(terminal, '    ', line)
  say('')
  const counts = [
    plural(run.steps, 'turn'),
    plural(run.calls, 'tool call'),
    plural(audit.launcherCalls, 'launcher call'),
    `${plural(audit.records, 'audit record')}, ${chain}`,
  ]
  labelled(terminal, '  ', counts.join(' · '))
  say(`  session  ${near(join(home.home, 'agents', AGENT, 'sessions', run.session))}`)
  if (verified.code !== 0 || run.calls === 0 || audit.launcherCalls === 0) {
    throw new StepFailed('demo', 'something is missing above', 'Please report it')
  }
  say(`\ndemo: ok (${driver}, ${run.calls + audit.launcherCalls} tool calls, ${audit.records} audit records)`)
  return 0
}

async function builtExecd(): Promise<string> {
  const built = await said('sh', [join(root, 'packages/execd/build.sh')])
  if (built.code !== 0) throw new StepFailed('execd', 'it could not be built', built.stderr.trim())
  const bytes = /(\d+) bytes/.exec(built.stdout)?.[1]
  return `built (${(Number(bytes) / 1e6).toFixed(1)} MB, static)`
}

// A reader that has seen enough, and Ctrl-C, which reaches the programs that run here as well: what was started is
// ended all the same.
process.stdout.on('error', () => {})
process.on('SIGINT', () => {})

try {
  const [which] = process.argv.slice(2)
  if (which !== undefined && which !== 'kill')
    throw new StepFailed('demo', `there is no ${which}`, 'npm run demo, or npm run demo -- kill')
  process.exitCode = which === 'kill' ? await killDemo({ root, terminal, builtExecd }) : await demo()
} catch (error) {
  if (!(error instanceof StepFailed)) throw error
  terminal.write(`  ✗ ${error.step.padEnd(12)} ${error.message.trim()}. ${error.advice}\n`)
  process.exitCode = 1
}
