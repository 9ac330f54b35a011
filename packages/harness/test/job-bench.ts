/** A session over a real execd whose commands are jobs: what the tests of background work call. */
import { type CallId, newCallId, type SessionRecord, systemClock, systemRandom } from '@beige/protocol'
import { createExecClient, type ExecClient } from '@beige/sandbox'
import { createMemoryStore, createMemoryVault } from '@beige/sessions'
import { startExecd } from '@beige/test-support'
import { createJobBook, type JobBook, type JobSettings } from '../src/jobs/job-book.ts'
import { openedSession, type Session } from '../src/session.ts'
import { sessionHands } from '../src/session-hands.ts'
import type { JobRef, ToolContext, ToolResult } from '../src/tool.ts'
import { toolset } from '../src/tools/index.ts'
import { sessionId } from './run-bench.ts'

export type JobBench = {
  root: string
  exec: ExecClient
  session: Session
  jobs: JobBook
  /** What was made durable before a command had its effect. */
  begun: (JobRef | null)[]
  custom(kind: string): unknown[]
  call(name: string, input: unknown, changes?: Partial<ToolContext>): Promise<ToolResult>
  callId(): CallId
  /** Another owner of the session, whose process knows nothing but the log. */
  successor(): Promise<JobBench>
  /** Execd is killed and another one stands at its place. */
  kill(): void
}

export async function withJobs(
  settings: Partial<JobSettings>,
  use: (bench: JobBench) => Promise<void>,
): Promise<void> {
  await using execd = await startExecd()
  const endpoint = { kind: 'unix', socketPath: execd.socketPath, basePath: '' } as const
  const vault = createMemoryVault()
  const owners: { jobs: JobBook; exec: ExecClient }[] = []

  async function owner(): Promise<JobBench> {
    const exec = createExecClient(endpoint)
    const instance = (await exec.health(AbortSignal.timeout(10_000)))?.instance ?? ''
    const store = createMemoryStore({ clock: systemClock, random: systemRandom, vault })
    for (const kept of vault.sessions.values()) kept.owner = null // as after its lease has run out
    const id = sessionId('s_jobs')
    const log = (await store.exists(id)) ? await store.open(id) : await store.create({ id, cwd: '/w' })
    const session = openedSession(log)
    const hands = sessionHands(session, {
      id: 'test',
      open: async () => ({ exec, generation: instance, workspace: execd.root }),
    })
    const jobs = createJobBook({ session, hands, clock: systemClock, settings })
    owners.push({ jobs, exec })
    const tools = new Map([...toolset('coding'), ...toolset('core')].map(tool => [tool.name, tool]))
    const begun: (JobRef | null)[] = []
    const bench: JobBench = {
      root: execd.root,
      exec,
      session,
      jobs,
      begun,
      custom: kind =>
        session.log.records.flatMap((record: SessionRecord) =>
          record.type === 'custom' && record.kind === kind ? [record.data] : [],
        ),
      callId: () => newCallId(systemClock, systemRandom),
      async call(name, input, changes = {}) {
        const tool = tools.get(name)
        if (!tool) throw new Error(`no tool ${name}`)
        return await tool.run(input, {
          callId: bench.callId(),
          sessionId: id,
          hands,
          cwd: execd.root,
          signal: AbortSignal.timeout(60_000),
          clock: systemClock,
          env: {},
          seenFiles: new Map(),
          jobs,
          begins: async job => void begun.push(job),
          progress: () => {},
          ...changes,
        })
      },
      successor: owner,
      kill: execd.kill,
    }
    return bench
  }

  try {
    await use(await owner())
  } finally {
    for (const one of owners) {
      await one.jobs.close()
      await one.exec.close()
    }
  }
}
