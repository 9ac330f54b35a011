/**
 * A replica of the torture as a process of its own: the production host, store, turn loop, tools and exec client. Its model is
 * scripted. Started with its setup as the only argument; commands come on stdin, frames go to stdout.
 */
import { createInterface } from 'node:readline'
import { createLocks, createPipeline, type Hands } from '@beige/harness'
import { createHost, refusal, type Viewer } from '@beige/host'
import { type Frame, type SessionId, systemClock, systemRandom } from '@beige/protocol'
import { createExecClient } from '@beige/sandbox'
import { createFilesStore, createPostgresStore, type SessionStore } from '@beige/sessions'
import { createDice } from '../../sim/world/dice.ts'
import { replicaTools } from '../../sim/world/replica.ts'
import { createLink } from '../../sim/world/sim-exec-client.ts'
import { createSimRouter, SIM_MODEL } from '../../sim/world/sim-model.ts'
import { type FromReplica, ledgerCommand, type ReplicaSetup, type ToReplica } from './wire.ts'

const SILENT_MS = 1500

const setup: ReplicaSetup = JSON.parse(process.argv[2] ?? '{}')
const clock = systemClock
const random = systemRandom

function say(line: FromReplica): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function openStore(): SessionStore {
  const { store } = setup
  return store.kind === 'files'
    ? createFilesStore({ root: store.root, clock, random })
    : createPostgresStore({ url: store.url, clock, random, name: setup.name })
}

const router = createSimRouter({
  dice: createDice(setup.seed),
  link: createLink(),
  command: ledgerCommand(setup.ledger),
  asked: (session, keys) => say({ says: 'asked', session, keys }),
  process: {
    after(delayMs, _name, run) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
  },
})
const tools = replicaTools()
const pipeline = createPipeline({
  ...{ tools, clock, locks: createLocks() },
  policy: { decide: () => ({ effect: 'allow', rule: 'torture' }) },
  audit: { start: async () => {}, end: async () => {} },
})
const exec = createExecClient({ kind: 'unix', socketPath: setup.execSocket, basePath: '' })
const hands: Hands = {
  id: 'torture',
  async open(signal) {
    const health = await exec.health(signal)
    return { exec, generation: health?.instance ?? '', workspace: '/tmp' }
  },
}
const host = createHost({
  ...{ store: openStore(), clock, random },
  makeSetup: async ({ log }) => ({
    ...{ router, model: SIM_MODEL, tools, pipeline, hands, workdir: '/tmp' },
    systemPrompt: async () => 'You are tortured.',
    callEnv: () => ({}),
    openRun: 'resume',
    jobs: { silentMs: SILENT_MS },
    close: async () => say({ says: 'releasing', session: log.id }),
  }),
})

const viewers = new Map<string, Viewer>()

function viewerOf(name: string, session: SessionId): Viewer {
  const known = viewers.get(name)
  if (known) return known
  const viewer: Viewer = {
    origin: { kind: 'client', name },
    send: frame => {
      if (isTold(frame)) say({ says: 'frame', viewer: name, session, frame })
    },
  }
  viewers.set(name, viewer)
  return viewer
}

function isTold(frame: Frame): boolean {
  if (frame.type !== 'event') return ['ready', 'ack', 'response'].includes(frame.type)
  return frame.event.kind === 'committed' || frame.event.kind === 'tool_end'
}

async function take({ viewer: name, session, command }: ToReplica & { do: 'take' }): Promise<void> {
  const viewer = viewerOf(name, session)
  try {
    const live = await host.session(session, { cwd: '/tmp' }, viewer)
    await live.handle(command, viewer)
  } catch (error) {
    const frame = { ...refusal(error), id: command.id, command: command.type, seq: 0 }
    say({ says: 'frame', viewer: name, session, frame })
  }
}

async function open(session: SessionId): Promise<void> {
  try {
    const live = await host.session(session, null)
    say({ says: 'opened', session, epoch: live.session.log.epoch })
  } catch (error) {
    say({ says: 'refused', session, code: refusal(error).code })
  }
}

process.once('SIGTERM', () => {
  const over = () => void process.stdout.write('', () => process.exit(0))
  host.close(new Error('the replica stops')).then(over, over)
})
say({ says: 'up' })
for await (const line of createInterface({ input: process.stdin })) {
  const message: ToReplica = JSON.parse(line)
  void (message.do === 'take' ? take(message) : open(message.session))
}
process.exit(0)
