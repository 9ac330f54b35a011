/** Measures a program on the whole three-turn task: until its first model request, until its end, and its memory at both. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { watchPeak } from '../memory-peak.ts'
import { type Memory, memoryOf, treeOf } from '../process-memory.ts'
import type { ModelProcess } from './model-process.ts'
import type { Probe } from './probe.ts'
import { startupRow } from './probe.ts'
import type { Launch } from './program.ts'
import { type Started, start } from './started.ts'
import { ANSWER, LAST_WORDS } from './three-turns.ts'

export function taskProbe(name: string, launch: Launch, model: ModelProcess, home: string): Probe {
  const firstRequestMs: number[] = []
  const taskMs: number[] = []
  const weightsAtFirst: Memory[] = []
  const peaks: Memory[] = []
  return {
    name,
    async time() {
      await using started = start(launch, home)
      using _ = onFirstRequest(model, atEpochMs => firstRequestMs.push(atEpochMs - started.startedEpochMs))
      taskMs.push((await taskDone(started)) - started.startedEpochMs)
    },
    async weigh() {
      await using started = start(launch, home)
      using watch = watchPeak(started.pid)
      using _ = onFirstRequest(model, () => weightsAtFirst.push(memoryOf(treeOf(started.pid), true)))
      await taskDone(started)
      peaks.push(watch.peak)
    },
    rows: () => [
      startupRow(`${name}-first-request`, firstRequestMs, weightsAtFirst),
      startupRow(`${name}-task`, taskMs, peaks),
    ],
  }
}

function onFirstRequest(model: ModelProcess, listener: (atEpochMs: number) => void): Disposable {
  const forget = model.onRequest((turn, atEpochMs) => {
    if (turn === 0) listener(atEpochMs)
  })
  return { [Symbol.dispose]: forget }
}

/** Resolves with the time at which the program had ended; rejects when it has not done the task. */
async function taskDone({ child, workspace, ended }: Started): Promise<number> {
  child.stdin.end()
  const { code, endedEpochMs, stdout, stderr } = await ended
  if (code !== 0 || !stdout.includes(LAST_WORDS) || fileText(join(workspace, 'answer.txt')) !== ANSWER) {
    throw new Error(`the task was not done (exit ${code}): ${stdout}${stderr}`.trim())
  }
  return endedEpochMs
}

function fileText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
