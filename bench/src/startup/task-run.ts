/** Runs one program on the three-turn task in a fresh folder and measures either its time or its memory. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { watchPeak } from '../memory-peak.ts'
import { type Memory, memoryOf, treeOf } from '../process-memory.ts'
import type { ModelProcess } from './model-process.ts'
import type { Launch } from './program.ts'
import { ANSWER, LAST_WORDS } from './three-turns.ts'

const DEADLINE_MS = 60_000

export type TaskTime = { firstRequestMs: number; taskMs: number }
export type TaskMemory = { atFirstRequest: Memory; peak: Memory }

export async function timeTask(launch: Launch, model: ModelProcess, home: string): Promise<TaskTime> {
  const startedMs = now()
  let firstRequestMs = Number.NaN
  const forget = model.onRequest((turn, atEpochMs) => {
    if (turn === 0) firstRequestMs = atEpochMs - startedMs
  })
  const endedMs = await runTask(launch, home, () => {}).finally(forget)
  return { firstRequestMs, taskMs: endedMs - startedMs }
}

// Apart from the timing: reading /proc costs time on the same two cores.
export async function weighTask(launch: Launch, model: ModelProcess, home: string): Promise<TaskMemory> {
  let pid = 0
  let atFirstRequest: Memory = { rssMb: 0, pssMb: 0 }
  let watch: ReturnType<typeof watchPeak> | undefined
  const forget = model.onRequest(turn => {
    if (turn === 0) atFirstRequest = memoryOf(treeOf(pid), true)
  })
  await runTask(launch, home, started => {
    pid = started
    watch = watchPeak(pid)
  }).finally(forget)
  return { atFirstRequest, peak: watch?.stop() ?? atFirstRequest }
}

/** Resolves with the time at which the program had ended; rejects when it has not done the task. */
async function runTask(launch: Launch, home: string, onStart: (pid: number) => void): Promise<number> {
  const workspace = mkdtempSync(join(home, 'task-'))
  try {
    const [program = '', ...args] = launch.argv
    const child = spawn(program, args, {
      cwd: workspace,
      env: launch.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: DEADLINE_MS,
    })
    const said = [child.stdout, child.stderr].map(stream => stream.toArray())
    onStart(child.pid ?? 0)
    const [code] = await once(child, 'exit')
    const endedMs = now()
    const [out = '', err = ''] = (await Promise.all(said)).map(chunks => Buffer.concat(chunks).toString())
    const isDone =
      code === 0 && out.includes(LAST_WORDS) && readFileSync(join(workspace, 'answer.txt'), 'utf8') === ANSWER
    if (!isDone) throw new Error(`${launch.argv.join(' ')} did not do the task (exit ${code}): ${out}${err}`)
    return endedMs
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
}

function now(): number {
  return performance.timeOrigin + performance.now()
}
