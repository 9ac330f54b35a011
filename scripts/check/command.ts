/** Runs a program of the repository to its end and hands back what it said. */
import { spawn } from 'node:child_process'

export type Finished = { exitCode: number; output: string }

/** Runs without a shell and without stdin; stdout and stderr are kept in order of arrival. */
export function runCommand(argv: readonly string[], cwd: string): Promise<Finished> {
  const [program = '', ...args] = argv
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', chunk => chunks.push(chunk))
    child.stderr.on('data', chunk => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', code => resolve({ exitCode: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}
