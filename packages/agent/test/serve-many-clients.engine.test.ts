/** Many WebSocket clients on many sessions, some of them killed at any moment: nobody misses a frame. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { echoScript, faithfulClient } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'
import { connectTo, served, type WireClient } from './serve-bench.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 1)
const SECONDS = Number(process.env.SERVE_LOAD_SECONDS ?? 10)
const CLIENTS = Number(process.env.SERVE_LOAD_CLIENTS ?? 300)
const SESSIONS = Math.ceil(CLIENTS / 3)

test(`${CLIENTS} clients on ${SESSIONS} sessions for ${SECONDS} s with kills: no lost frame (seed ${SEED})`, {
  timeout: 240_000,
}, async () => {
  const dice = random(SEED)
  await using bench = await agentBench(echoScript)
  const server = await served(bench, ['--listen', '127.0.0.1:0', '--session-idle-timeout', '1'])
  const url = `ws://${server.address}`
  let kills = 0
  let answered = 0
  const before = rssMb(server.child.process.pid)
  const end = performance.now() + SECONDS * 1000

  async function one(n: number): Promise<void> {
    const known = faithfulClient() // what this client knows outlives its connections
    const session = `s_${n % SESSIONS}`
    let wire: WireClient | null = null
    while (performance.now() < end) {
      const seq = known.seq()
      wire ??= await connectTo(url, `session_id=${session}${seq === null ? '' : `&after=${seq}`}`, { known })
      const id = `${n}-${performance.now()}`
      wire.send({ type: dice() % 3 === 0 ? 'prompt' : 'get_state', id, message: `from ${n}` })
      if (dice() % 6 === 0) {
        kills++
        wire.socket.terminate()
        await wire.closed
        wire = null
        continue
      }
      const response = await wire.response(id)
      assert.ok(response.success || response.code === 'busy', JSON.stringify(response))
      answered++
      wire.frames.length = 0
      await new Promise(resolve => setTimeout(resolve, dice() % 200))
    }
    wire?.socket.close()
    assert.ok(
      known.gaps.every(reason => reason === 'owner' || reason === 'window'),
      known.gaps.join(),
    )
  }

  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => one(n)))
  assert.ok(kills > CLIENTS / 4 && answered > CLIENTS)
  const peak = rssMb(server.child.process.pid)
  await new Promise(resolve => setTimeout(resolve, 5000)) // the sessions are released
  const state = await server.post({ type: 'list_daemon_sessions' })
  assert.equal(JSON.stringify(state.body).includes('"live":true'), false, 'nobody holds a session any more')
  process.stderr.write(
    `kills ${kills}, answers ${answered}, rss ${before} → ${peak} → ${rssMb(server.child.process.pid)} MB\n`,
  )
})

function rssMb(pid: number | undefined): number {
  return Math.round(
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
  )
}

/** xorshift32 */
function random(seed: number): () => number {
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}
