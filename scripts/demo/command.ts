/** Runs a program of the demo and gives back what it said. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

export type Said = { code: number | null; stdout: string; stderr: string }

export async function said(
  program: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Said> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const exit = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}

/** Hands each line of its output to `onLine` as it comes; answers its exit code and its stderr. */
export async function lines(
  program: string,
  args: readonly string[],
  onLine: (line: string) => void,
  options: { env?: NodeJS.ProcessEnv } = {},
): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const exit = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  const stderr = text(child.stderr)
  let rest = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts) if (line !== '') onLine(line)
  }
  return { code: await exit, stderr: await stderr }
}
