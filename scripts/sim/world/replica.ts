/** One replica: the production host, store, turn loop and tools in one simulated process. */
import { createLocks, createPipeline, type Hands, type Tool, toolset } from '@beige/harness'
import { createHost, refusal, type SessionHost, type Viewer } from '@beige/host'
import type { Frame, SessionId } from '@beige/protocol'
import { createFilesStore, createMemoryStore, type MemoryVault, type SessionStore } from '@beige/sessions'
import { obj, str } from '@earendil-works/pi-schema'
import type { Dice } from './dice.ts'
import { createProcessDisk, type DiskTrouble } from './process-disk.ts'
import type { Scheduler } from './scheduler.ts'
import type { SimDisk } from './sim-disk.ts'
import { effectCommand, type SimEndpoint } from './sim-endpoint.ts'
import { createLink, createSimExecClient, type Link } from './sim-exec-client.ts'
import { createSimRouter, SIM_MODEL } from './sim-model.ts'
import type { SimProcess } from './sim-process.ts'

/** What is planted goes around what is handed in: production code has no switch. */
export type Plant = {
  disk?(disk: ReturnType<typeof createProcessDisk>, process: SimProcess): ReturnType<typeof createProcessDisk>
  tools?(tools: readonly Tool[]): readonly Tool[]
}

export type ReplicaParts = {
  process: SimProcess
  scheduler: Scheduler
  dice: Dice
  disk: SimDisk
  /** Instead of the disk: the store `memory`. */
  vault: MemoryVault | null
  endpoint: SimEndpoint
  trouble: Pick<DiskTrouble, 'failed' | 'torn'>
  asked(sessionId: string, keys: readonly string[]): void
  plant: Plant
}

export interface Replica {
  readonly process: SimProcess
  readonly trouble: DiskTrouble
  readonly toSandbox: Link
  readonly toModel: Link
  /** Called in its process: takes a command off the wire; answers come to the viewer. */
  take(id: SessionId, command: { type: string; id: string }, viewer: Viewer): void
  /** Called in its process: ends in order. */
  stop(ended: () => void): void
}

export const ROOT = '/sessions'
const SILENT_MS = 1500 // short, so that commands become numbered jobs here too

export function startReplica(parts: ReplicaParts): Replica {
  const { process, scheduler, dice, endpoint, plant } = parts
  const { clock } = process
  const random = dice.fork()
  const trouble: DiskTrouble = { ...parts.trouble, stallMs: 0, failing: { write: 0, sync: 0, read: 0 } }
  const toSandbox = createLink()
  const toModel = createLink()
  const tools = plant.tools?.(replicaTools()) ?? replicaTools()
  const router = createSimRouter({
    process,
    dice: dice.fork(),
    link: toModel,
    asked: parts.asked,
    command: effectCommand,
  })
  const pipeline = createPipeline({
    tools,
    policy: { decide: () => ({ effect: 'allow', rule: 'simulated' }) },
    audit: { start: async () => {}, end: async () => {} },
    clock,
    locks: createLocks(),
  })

  function makeStore(): SessionStore {
    const { ticker } = process
    if (parts.vault) return createMemoryStore({ clock, random, ticker, vault: parts.vault })
    const disk = createProcessDisk(parts.disk, process, dice.fork(), trouble)
    return createFilesStore({ root: ROOT, clock, random, ticker, disk: plant.disk?.(disk, process) ?? disk })
  }

  const host: SessionHost = createHost({
    store: makeStore(),
    clock,
    random,
    makeSetup: async () => {
      const exec = createSimExecClient({ scheduler, process, endpoint, dice: dice.fork(), link: toSandbox })
      const hands: Hands = {
        id: 'simulated',
        async open(signal) {
          const health = await exec.health(signal)
          return { exec, generation: health?.instance ?? '', workspace: '/w' }
        },
      }
      return {
        ...{ router, model: SIM_MODEL, tools, pipeline, hands, workdir: '/w' },
        systemPrompt: async () => 'You are simulated.',
        callEnv: () => ({}),
        openRun: 'resume',
        jobs: { silentMs: SILENT_MS },
      }
    },
  })

  return {
    process,
    trouble,
    toSandbox,
    toModel,
    take(id, command, viewer) {
      void (async () => {
        try {
          const live = await host.session(id, { cwd: '/w' }, viewer)
          await live.handle(command, viewer)
        } catch (error) {
          const frame: Frame = { ...refusal(error), id: command.id, command: command.type, seq: 0 }
          viewer.send(frame, JSON.stringify(frame))
        }
      })()
    },
    stop(ended) {
      host.close(new Error('the replica stops')).then(ended, ended)
    },
  }
}

/** `bash` and `bash_job` as they are; `note` has an effect that nobody can join, `peek` has none and may be repeated. */
export function replicaTools(): readonly Tool[] {
  const own = toolset('coding').filter(tool => tool.name === 'bash' || tool.name === 'bash_job')
  const note: Tool = {
    ...{ name: 'note', description: 'Notes.', inputSchema: obj({ text: str() }) },
    ...{ idempotent: false, mode: 'shared' },
    async run(input, { hands, signal }) {
      const text = typeof input === 'object' && input !== null && 'text' in input ? String(input.text) : ''
      const { exec } = await hands.open(signal)
      const { stdout } = await exec.run({ command: 'sh', args: ['-c', text] }, signal)
      return {
        content: [{ type: 'text', text: Buffer.from(stdout).toString() }],
        ...{ isError: false, outcome: 'done', details: {} },
      }
    },
  }
  const peek: Tool = {
    ...{ name: 'peek', description: 'Looks.', inputSchema: obj({}), idempotent: true, mode: 'shared' },
    async run(_input, { hands, signal }) {
      const { generation } = await hands.open(signal)
      return {
        content: [{ type: 'text', text: `on ${generation}` }],
        ...{ isError: false, outcome: 'done', details: {} },
      }
    },
  }
  return [...own, note, peek]
}
