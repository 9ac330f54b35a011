/** `npm run bench -- execd`: what execd weighs, and its work beside that of `docker exec` and `docker cp`. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { chooseDriver } from '@beige/sandbox'
import type { Bench, BenchContext, Row } from '../bench.ts'
import { containerLabelled, type DockerApi, openDockerApi } from '../exec/docker-api.ts'
import { rounded } from '../output.ts'
import { quantile } from '../quantile.ts'
import { BENCH_LABEL, benchSpec } from '../sandbox-spec.ts'
import { startBareExecd } from './bare-execd.ts'
import { idleRow } from './idle-row.ts'
import { SANDBOXES, sandboxesRow } from './sandboxes-row.ts'
import { wakeRow } from './wake-row.ts'
import { allWork, type Places, type Work } from './work.ts'

const SETTLE_MS = 30

export const execdBench: Bench = {
  name: 'execd',
  about: 'execd idle, at work beside docker exec and docker cp, and fifty sandboxes of each driver',
  async run(context) {
    const { say, signal } = context
    await using opened = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'beige-bench-'))
    chmodSync(folder, 0o711) // the agent's user goes through it
    opened.defer(() => rmSync(folder, { recursive: true, force: true }))
    const api = openDockerApi(process.env.DOCKER_HOST)
    opened.defer(() => api.close())

    say('idle')
    const rows = [await idleRow(signal)]
    rows.push(...(await workRows(context, folder, api)))
    for (const kind of ['bubblewrap', 'docker'] as const) {
      say(`${SANDBOXES} sandboxes of ${kind}`)
      try {
        rows.push(await sandboxesRow(kind, folder, api, signal))
      } catch (error) {
        say(`sandboxes-${SANDBOXES} on ${kind}: left out, ${messageOf(error)}`)
      }
    }
    say('wake')
    try {
      rows.push(await wakeRow(folder, signal))
    } catch (error) {
      say(`wake: left out, ${messageOf(error)}`)
    }
    return rows
  },
}

async function workRows(context: BenchContext, folder: string, api: DockerApi): Promise<Row[]> {
  await using opened = new AsyncDisposableStack()
  const bare = opened.use(await startBareExecd(context.signal))
  const docker = await openDocker(context, folder, api, opened)
  const rows: Row[] = []
  for (const work of await allWork({ bare, docker, folder })) {
    context.say(work.name)
    rows.push(await measure(work, context))
  }
  return rows
}

async function openDocker(
  { say, signal }: BenchContext,
  folder: string,
  api: DockerApi,
  opened: AsyncDisposableStack,
): Promise<Places['docker']> {
  try {
    const driver = await chooseDriver({ kind: 'docker' }, signal)
    const id = `bench-execd-${process.pid}`
    const sandbox = await driver.open(await benchSpec(join(folder, id), id), signal)
    opened.defer(() => sandbox.close())
    const container = await containerLabelled(api, `${BENCH_LABEL}=${id}`)
    return { exec: sandbox.exec, container, workspace: sandbox.workspace }
  } catch (error) {
    say(`docker columns: left out, ${messageOf(error)}`)
    return null
  }
}

/** One round calls every way once, so that all meet the same machine. */
async function measure({ name, rounds, ways }: Work, context: BenchContext): Promise<Row> {
  const samples = new Map(Object.keys(ways).map((way): [string, number[]] => [way, []]))
  for (const way of Object.values(ways)) await way(context.signal)
  for (let round = 0; round < (context.rounds ?? rounds); round += 1) {
    for (const [column, way] of Object.entries(ways)) {
      const sinceMs = performance.now()
      await way(context.signal)
      samples.get(column)?.push(performance.now() - sinceMs)
      await pause(SETTLE_MS) // an engine still works on what it has answered
    }
  }
  const medians = [...samples].map(([column, times]): [string, number] => [
    column,
    rounded(quantile(times, 0.5)),
  ])
  return { name, ...Object.fromEntries(medians) }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
