/** Reads some lines of a file that is too large to be fetched: commands in the sandbox cut them out (H32, H33). */
import type { ToolContext } from '../tool.ts'
import { createLineWindow, type LineWindow } from './line-window.ts'
import type { Place } from './paths.ts'

const DECIMAL = /^\s*(\d+)/

/** Null when the sandbox has no `tail`. The command ends as soon as the window is full. */
export async function streamedWindow(
  { exec, path }: Place,
  offset: number,
  limit: number,
  context: ToolContext,
): Promise<LineWindow | null> {
  const window = createLineWindow(offset, limit)
  const full = new AbortController()
  const command = { command: 'tail', args: ['-n', `+${offset}`, '--', path] }
  const signal = AbortSignal.any([context.signal, full.signal])
  try {
    const end = await exec.stream(
      command,
      chunk => {
        if (chunk.stream === 'stdout' && !window.push(chunk.bytes)) full.abort()
      },
      signal,
    )
    if (end.exitCode !== 0 && !full.signal.aborted) return null
  } catch (error) {
    context.signal.throwIfAborted()
    if (!full.signal.aborted) throw error
  }
  return window.finish()
}

/** Null when it can not be told. */
export async function countLinesOf(
  { exec, path }: Place,
  size: number,
  context: ToolContext,
): Promise<number | null> {
  const { exitCode, stdout } = await exec.run({ command: 'wc', args: ['-l', '--', path] }, context.signal)
  const found = DECIMAL.exec(Buffer.from(stdout).toString('latin1'))?.[1]
  if (exitCode !== 0 || found === undefined) return null
  const last = await exec.readFile(path, context.signal, { start: size - 1, end: size })
  return Number(found) + (last.bytes.at(-1) === 0x0a ? 0 : 1)
}
