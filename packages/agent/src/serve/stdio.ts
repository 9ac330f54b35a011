/**
 * `agent serve` without a listener: commands in on stdin, frames out on stdout, one JSON object a line each; nothing
 * else is ever on stdout. At the end of stdin what was read is answered, a run in flight is aborted and recorded.
 */
import { refusal, type Viewer } from '@beige/host'
import { messageOf } from '@beige/protocol'
import { openAgentSession } from '../agent-session.ts'
import { fail } from '../errors.ts'
import { agentOptions, type RawOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { stopSignals } from '../stop-signals.ts'
import { lines } from './lines.ts'

const MAX_COMMAND_BYTES = 8 * 1024 * 1024

export async function serveStdio(raw: RawOptions, world: ProcessWorld): Promise<number> {
  const options = agentOptions(raw, world)
  const stop = stopSignals(world)
  const viewer: Viewer = {
    origin: { kind: 'local' },
    send: frame => void world.stdout.write(`${JSON.stringify(frame)}\n`),
  }
  const answers = new Set<Promise<void>>()
  try {
    const { live, close } = await openAgentSession({ options, world, viewer, openRun: () => 'resume' })
    try {
      for await (const line of lines(world.stdin, MAX_COMMAND_BYTES, stop.signal)) {
        const parsed = parseLine(line)
        if (!parsed.ok) {
          live.frames.private(viewer, { ...refusal(parsed.error), command: '' })
          continue
        }
        const answer = live.handle(parsed.value, viewer)
        answers.add(answer)
        answer.finally(() => answers.delete(answer))
      }
      const { aborted, reason } = stop.signal
      live.stop(aborted ? reason : new DOMException('stdin was closed', 'AbortError'))
      await Promise.all(answers)
    } finally {
      await close(new DOMException('the server stops', 'AbortError'))
    }
    return stop.stopped()?.exitCode ?? 0
  } finally {
    stop.dispose()
  }
}

type Parsed = { ok: true; value: unknown } | { ok: false; error: unknown }

function parseLine(line: string | null): Parsed {
  if (line === null)
    return { ok: false, error: fail('bad_line', { reason: `longer than ${MAX_COMMAND_BYTES} bytes` }) }
  try {
    return { ok: true, value: JSON.parse(line) }
  } catch (error) {
    return { ok: false, error: fail('bad_line', { reason: messageOf(error) }, error) }
  }
}
