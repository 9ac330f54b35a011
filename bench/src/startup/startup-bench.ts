/** `npm run bench -- startup`: how soon each program asks the model, ends a task, and what it weighs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, BenchContext, Row } from '../bench.ts'
import { rounded } from '../output.ts'
import { median } from '../quantile.ts'
import { type ModelProcess, startModelProcess } from './model-process.ts'
import { type Launch, piProgram, type TaskProgram } from './program.ts'
import { type TaskMemory, type TaskTime, timeTask, weighTask } from './task-run.ts'

const ROUNDS = 10
const MEMORY_ROUNDS = 3

type Measured = { program: TaskProgram; launch: Launch; times: TaskTime[]; weights: TaskMemory[] }

export const startupBench: Bench = {
  name: 'startup',
  about: 'process start to first model request and to the end of a three-turn task, and memory, beside pi',
  async run(context) {
    const home = mkdtempSync(join(tmpdir(), 'beige-bench-'))
    try {
      await using model = await startModelProcess(context.root)
      return await measure(context, model, home)
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  },
}

async function measure(context: BenchContext, model: ModelProcess, home: string): Promise<Row[]> {
  const programs = [piProgram(context.root)]
  const measured: Measured[] = []
  for (const program of programs) {
    if (program.absent !== null) context.say(`${program.name}: left out, ${program.absent}`)
    else {
      const launch = program.prepare({ root: context.root, home, modelUrl: model.url })
      measured.push({ program, launch, times: [], weights: [] })
    }
  }
  // The first run of each fills its caches and is not counted.
  for (const { launch } of measured) await timeTask(launch, model, home)
  const rounds = context.rounds ?? ROUNDS
  for (let round = 0; round < rounds; round += 1) {
    for (const one of measured) one.times.push(await timeTask(one.launch, model, home))
    context.say(`round ${round + 1} of ${rounds}`)
  }
  for (let round = 0; round < MEMORY_ROUNDS; round += 1) {
    for (const one of measured) one.weights.push(await weighTask(one.launch, model, home))
  }
  return measured.flatMap(rowsOf)
}

function rowsOf({ program, times, weights }: Measured): Row[] {
  const first = weights.map(weight => weight.atFirstRequest)
  const peak = weights.map(weight => weight.peak)
  return [
    {
      name: `${program.name}-first-request`,
      ...numbers(
        times.map(time => time.firstRequestMs),
        first,
      ),
    },
    {
      name: `${program.name}-task`,
      ...numbers(
        times.map(time => time.taskMs),
        peak,
      ),
    },
  ]
}

function numbers(
  times: readonly number[],
  memory: readonly { rssMb: number; pssMb: number }[],
): Omit<Row, 'name'> {
  return {
    ms: rounded(median(times)),
    rss_mb: rounded(median(memory.map(({ rssMb }) => rssMb))),
    pss_mb: rounded(median(memory.map(({ pssMb }) => pssMb))),
  }
}
