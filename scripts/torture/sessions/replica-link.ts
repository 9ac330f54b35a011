/** The torture's side of one replica process: what it is sent, what it says, and the signals that hurt it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Viewer } from '@beige/host'
import type { Frame, SessionId } from '@beige/protocol'
import type { Served } from '../../sim/world/sim-client.ts'
import type { FromReplica, ReplicaSetup, ToReplica } from './wire.ts'

export type ReplicaEvents = {
  up(): void
  opened(session: SessionId, epoch: number): void
  refused(session: SessionId): void
  asked(session: string, keys: readonly string[]): void
  releasing(session: SessionId): void
  exited(): void
}

export type ReplicaLink = Served & {
  readonly pid: number
  open(session: SessionId): void
  signal(name: NodeJS.Signals): void
  exited: Promise<void>
}

const MAX_STDERR_LINES = 20

export function startReplicaProcess(
  setup: ReplicaSetup,
  events: ReplicaEvents,
  complain: (text: string) => void,
): ReplicaLink {
  const main = join(import.meta.dirname, 'replica-process.ts')
  const args = ['--conditions=beige-source', main, JSON.stringify(setup)]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const viewers = new Map<string, Viewer>()
  /** Commands without an answer: whoever waits hears of it when the process is gone. */
  const waiting = new Map<string, { viewer: Viewer; command: string }>()
  let lines = 0

  const exited = new Promise<void>(resolve => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  void exited.then(() => {
    events.exited()
    for (const [id, { viewer, command }] of waiting) {
      const gone: Frame = { type: 'response', id, command, success: false, seq: 0, code: 'unavailable' }
      viewer.send(gone, '')
    }
    waiting.clear()
  })
  child.stdin?.on('error', () => {}) // it is gone, which `exit` says
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', line => {
      if (lines++ < MAX_STDERR_LINES) complain(`${setup.name}: ${line}`)
    })
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', line => {
      const message = parsed(line)
      if (message) heard(message)
    })

  function heard(message: FromReplica): void {
    if (message.says === 'up') events.up()
    else if (message.says === 'opened') events.opened(message.session, message.epoch)
    else if (message.says === 'refused') events.refused(message.session)
    else if (message.says === 'asked') events.asked(message.session, message.keys)
    else if (message.says === 'releasing') events.releasing(message.session)
    else if (isFrame(message.frame)) {
      const { frame } = message
      if (frame.type === 'ready') events.opened(message.session, frame.epoch)
      if (frame.type === 'response') waiting.delete(frame.id ?? '')
      viewers.get(message.viewer)?.send(frame, '')
    }
  }

  function send(message: ToReplica): void {
    if (child.stdin?.writable) child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  return {
    pid: child.pid ?? 0,
    exited,
    process: {
      after(delayMs, _name, run) {
        const timer = setTimeout(run, delayMs)
        return () => clearTimeout(timer)
      },
    },
    take(session, command, viewer) {
      const name = `${viewer.origin.name}`
      viewers.set(name, viewer)
      if (child.exitCode === null && child.signalCode === null)
        waiting.set(command.id, { viewer, command: command.type })
      send({ do: 'take', viewer: name, session, command })
    },
    open: session => send({ do: 'open', session }),
    signal: name => void child.kill(name),
  }
}

/** A line that a killed process did not finish is none. */
function parsed(line: string): FromReplica | null {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function isFrame(value: unknown): value is Frame {
  return typeof value === 'object' && value !== null && 'type' in value && 'seq' in value
}
