/** `npm run bench -- exec`: what a trivial command costs on the host, through execd, and through `docker exec`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chooseDriver, type Sandbox } from '@beige/sandbox'
import type { Bench, BenchContext, Row } from '../bench.ts'
import { rounded } from '../output.ts'
import { quantile } from '../quantile.ts'
import { BENCH_LABEL, benchSpec } from '../sandbox-spec.ts'
import { containerLabelled, dockerExecApi, openDockerApi } from './docker-api.ts'
import { callsPerSecond, timeInTurn } from './load.ts'
import { dockerExecCli, hostSpawn } from './spawned.ts'
import { COMMAND, callOnce, type Subject } from './subject.ts'

const ROUNDS = 150
const WARM_UP_CALLS = 5
const WINDOW_MS = 1500
const AT_ONCE = [1, 8, 32] as const

export const execBench: Bench = {
  name: 'exec',
  about: 'a trivial command on the host, through execd and through docker exec',
  async run(context) {
    await using opened = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'beige-bench-'))
    opened.defer(() => rmSync(folder, { recursive: true, force: true }))
    return await measure(await openSubjects(context, folder, opened), context)
  },
}

async function openSubjects(
  context: BenchContext,
  folder: string,
  opened: AsyncDisposableStack,
): Promise<Subject[]> {
  const subjects: Subject[] = [hostSpawn]
  let dockerId: string | null = null
  for (const kind of ['docker', 'bubblewrap'] as const) {
    try {
      const driver = await chooseDriver({ kind }, context.signal)
      const spec = await benchSpec(join(folder, kind), `bench-${kind}-${process.pid}`)
      const sandbox = await driver.open(spec, context.signal)
      opened.defer(() => sandbox.close())
      subjects.push(execdIn(sandbox))
      if (kind === 'docker') dockerId = spec.id
    } catch (error) {
      context.say(`execd-${kind}: left out, ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (dockerId === null) {
    context.say('docker-exec-cli, docker-exec-api: left out, they run in the container of execd-docker')
    return subjects
  }
  const api = openDockerApi(process.env.DOCKER_HOST)
  opened.defer(() => api.close())
  const container = await containerLabelled(api, `${BENCH_LABEL}=${dockerId}`)
  return [...subjects, dockerExecCli(container), dockerExecApi(api, container)]
}

function execdIn(sandbox: Sandbox): Subject {
  const [command, ...args] = COMMAND
  return {
    name: `execd-${sandbox.driver}`,
    call: async signal => Buffer.from((await sandbox.exec.run({ command, args }, signal)).stdout).toString(),
  }
}

async function measure(
  subjects: readonly Subject[],
  { rounds = ROUNDS, say, signal }: BenchContext,
): Promise<Row[]> {
  for (const subject of subjects) {
    for (let call = 0; call < WARM_UP_CALLS; call += 1) await callOnce(subject, signal)
  }
  const times = await timeInTurn(subjects, rounds, signal)
  const rows = subjects.map((subject): Row => {
    const samples = times.get(subject) ?? []
    return {
      name: subject.name,
      p50_ms: rounded(quantile(samples, 0.5)),
      p95_ms: rounded(quantile(samples, 0.95)),
    }
  })
  for (const atOnce of AT_ONCE) {
    say(`${atOnce} at once`)
    for (const [index, subject] of subjects.entries()) {
      const perSecond = rounded(await callsPerSecond(subject, atOnce, WINDOW_MS, signal))
      rows[index] = { ...rows[index], name: subject.name, [`per_s_${atOnce}`]: perSecond }
    }
  }
  return rows
}
