/** `abort`: answered when the run, its tools and everything they started have ended. */
import type { LiveSession } from '../live-session.ts'

export async function abort(live: LiveSession): Promise<void> {
  const run = live.run
  if (!run) return
  run.abort(new DOMException('aborted by a client', 'AbortError'))
  await run.ended
}
