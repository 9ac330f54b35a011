/** `npm run bench -- startup`: how soon each program asks the model, ends a task, and what it weighs. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, BenchContext, Row } from '../bench.ts'
import { commandProbe } from './command-probe.ts'
import { httpIsReady, idleProbe, stdioAnswers } from './idle-probe.ts'
import { startModelProcess } from './model-process.ts'
import type { Probe } from './probe.ts'
import { agentServe, agentTask, agentVersion, gatewayStart, piTask, type Setting } from './program.ts'
import { taskProbe } from './task-probe.ts'

const ROUNDS = 12
const MEMORY_ROUNDS = 3

export const startupBench: Bench = {
  name: 'startup',
  about: 'process start to first model request and to the end of a three-turn task, and memory, beside pi',
  async run(context) {
    const home = mkdtempSync(join(tmpdir(), 'beige-bench-'))
    try {
      await using model = await startModelProcess(context.root)
      const setting: Setting = { root: context.root, home, modelUrl: model.url }
      const port = await freePort()
      const probes = [
        commandProbe('agent-version', agentVersion(setting), home),
        taskProbe('agent', agentTask(setting), model, home),
        taskProbe('pi', piTask(setting), model, home),
        idleProbe('serve-idle', agentServe(setting), home, stdioAnswers),
        idleProbe('gateway-idle', gatewayStart(setting, port), home, httpIsReady(port)),
      ]
      return await measure(await warmedUp(probes, context), context)
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  },
}

/** The first run of each fills its caches and is not counted; one that can not run is left out. */
async function warmedUp(probes: readonly Probe[], { say }: BenchContext): Promise<Probe[]> {
  const able: Probe[] = []
  for (const probe of probes) {
    try {
      await probe.weigh()
      able.push(probe)
    } catch (error) {
      say(`${probe.name}: left out, ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return able
}

async function measure(probes: readonly Probe[], { rounds = ROUNDS, say }: BenchContext): Promise<Row[]> {
  for (let round = 1; round <= rounds; round += 1) {
    for (const probe of probes) await probe.time()
    say(`round ${round} of ${rounds}`)
  }
  for (let round = 0; round < MEMORY_ROUNDS; round += 1) {
    for (const probe of probes) await probe.weigh()
  }
  return probes.flatMap(probe => probe.rows())
}

/** A port of this machine that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port')
  return address.port
}
