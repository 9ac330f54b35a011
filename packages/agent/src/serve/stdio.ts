/**
 * `agent serve` without a listener: commands in on stdin, frames out on stdout, one JSON object a line each; nothing
 * else is ever on stdout. At the end of stdin what was read is answered, a run in flight is aborted and recorded.
 */
import { type Connection, connect, refusal, type Viewer } from '@beige/host'
import { MAX_COMMAND_BYTES } from '@beige/protocol'
import { openAgentHost } from '../agent-session.ts'
import { fail } from '../errors.ts'
import type { AgentOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { stopSignals } from '../stop-signals.ts'
import { parseCommand } from './body.ts'
import { lines } from './lines.ts'
import { runsEnded } from './run-ends.ts'
import type { ServeOptions } from './serve-options.ts'

export async function serveStdio(
  options: AgentOptions,
  serve: ServeOptions,
  world: ProcessWorld,
): Promise<number> {
  const stop = stopSignals(world)
  const { stdout } = world
  const viewer: Viewer = {
    origin: { kind: 'local' },
    send: (_frame, text) => void stdout.write(`${text}\n`),
    buffered: () => stdout.writableLength ?? 0,
  }
  const answers = new Set<Promise<void>>()
  try {
    const agent = await openAgentHost({
      ...{ options, world, openRun: () => 'resume' },
      approve: serve.approve,
      ...(serve.lifecycle ? { lifecycle: serve.lifecycle } : {}),
    })
    try {
      const id = await agent.sessionId()
      const connection = await connect({ host: agent.host, viewer, id, fresh: agent.fresh(), ask: {} })
      stdout.on('drain', connection.drained)
      for await (const line of lines(world.stdin, MAX_COMMAND_BYTES, stop.signal)) {
        const answer = handled(connection, line)
        answers.add(answer)
        answer.finally(() => answers.delete(answer))
      }
      const { aborted, reason } = stop.signal
      if (!aborted) await runsEnded(agent.host, serve.drainGraceMs, world.clock)
      connection.live.stop(aborted ? reason : new DOMException('stdin was closed', 'AbortError'))
      await Promise.all(answers)
    } finally {
      await agent.close(new DOMException('the server stops', 'AbortError'))
    }
    return stop.stopped()?.exitCode ?? 0
  } finally {
    stop.dispose()
  }
}

async function handled(connection: Connection, line: string | null): Promise<void> {
  if (line === null) {
    const problem = fail('line_too_large', { maxBytes: MAX_COMMAND_BYTES })
    return connection.private({ ...refusal(problem), command: '' })
  }
  const body = parseCommand(Buffer.from(line))
  if (body.ok) return connection.handle(body.value)
  connection.private({ ...refusal(fail('bad_line', { reason: body.message })), command: '' })
}
