/** What is asked of a sandbox once, at first use, and holds as long as that sandbox: its user's home, its shell, what searches. */
import type { ExecClient } from '@beige/sandbox'
import { askEngine, type SearchEngine } from './search/engine.ts'

const MAX_GENERATIONS = 256 // remembered at once, oldest forgotten first

export type Opened = { exec: ExecClient; generation: string }

export interface SandboxFacts {
  /** Null where it has none. */
  home(at: Opened, signal: AbortSignal): Promise<string | null>
  shell(at: Opened, signal: AbortSignal): Promise<'bash' | 'sh'>
  searchEngine(at: Opened, signal: AbortSignal): Promise<SearchEngine>
}

export function createSandboxFacts(): SandboxFacts {
  return {
    home: oncePerGeneration(askHome),
    shell: oncePerGeneration(askShell),
    searchEngine: oncePerGeneration(askEngine),
  }
}

async function askHome({ exec }: Opened, signal: AbortSignal): Promise<string | null> {
  const { exitCode, stdout } = await exec.run({ command: 'sh', args: ['-c', 'printf %s "$HOME"'] }, signal)
  const home = Buffer.from(stdout).toString()
  return exitCode === 0 && home.startsWith('/') ? home : null
}

async function askShell({ exec }: Opened, signal: AbortSignal): Promise<'bash' | 'sh'> {
  const { exitCode } = await exec.run({ command: 'bash', args: ['-c', ':'] }, signal)
  return exitCode === 0 ? 'bash' : 'sh'
}

/** An answer is kept when it is there, not while it is asked for: an aborted call must not fail the next one. */
function oncePerGeneration<T>(ask: (at: Opened, signal: AbortSignal) => Promise<T>) {
  const known = new Map<string, { answer: T }>()
  return async (at: Opened, signal: AbortSignal): Promise<T> => {
    const found = known.get(at.generation)
    if (found) return found.answer
    const answer = await ask(at, signal)
    known.set(at.generation, { answer })
    const [oldest] = known.keys()
    if (known.size > MAX_GENERATIONS && oldest !== undefined) known.delete(oldest)
    return answer
  }
}
