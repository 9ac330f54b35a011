/** A session of 1,000 turns: how long it takes to open, and what a turn costs on the disk. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  newCallId,
  newEntryId,
  newSessionId,
  type RecordBody,
  systemClock,
  systemRandom,
} from '@beige/protocol'
import { foldSession, type SessionStore } from '@beige/sessions'
import pg from 'pg'
import type { BenchContext, Row } from '../bench.ts'
import { rounded } from '../output.ts'
import { quantile } from '../quantile.ts'
import type { Stores } from './subject.ts'

const TURNS = 1000
const TURNS_A_WRITE = 50
const ROUNDS = 5

export async function turnRows(
  { folder, files, postgres }: Stores,
  { rounds = ROUNDS, say }: BenchContext,
): Promise<Row[]> {
  say(`a session of ${TURNS} turns`)
  const rows = [
    await turnRow('turns-1000-files', files, rounds, id => folderBytes(join(folder, 'sessions', id))),
  ]
  if (postgres) {
    const { store, url } = postgres
    rows.push(await turnRow('turns-1000-postgres', store, rounds, id => tableBytes(url, id)))
  }
  return rows
}

async function turnRow(
  name: string,
  store: SessionStore,
  rounds: number,
  bytesOf: (id: string) => Promise<number>,
): Promise<Row> {
  const id = newSessionId(systemClock, systemRandom)
  const log = await store.create({ id, cwd: '/work' })
  let parent: string | null = null
  for (let turn = 0; turn < TURNS; turn += TURNS_A_WRITE) {
    const bodies: RecordBody[] = []
    for (let count = 0; count < TURNS_A_WRITE; count += 1) {
      const records = turnRecords(parent)
      parent = records.leaf
      bodies.push(...records.bodies)
    }
    await log.append(...bodies)
  }
  await log.close()
  const bytes = await bytesOf(id)
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const sinceMs = performance.now()
    const opened = await store.open(id)
    foldSession(opened.records)
    times.push(performance.now() - sinceMs)
    await opened.close()
  }
  return { name, open_p50_ms: rounded(quantile(times, 0.5)), bytes_per_turn: Math.round(bytes / TURNS) }
}

/** A prompt, one call of a tool with its result, an answer. */
function turnRecords(parent: string | null): { bodies: RecordBody[]; leaf: string } {
  const newId = () => newEntryId(systemClock, systemRandom)
  const [prompt, asks, answers] = [newId(), newId(), newId()]
  const call = newCallId(systemClock, systemRandom)
  const input = { command: 'grep -rn "needle" src | head -20' }
  const usage = {
    input_tokens: 1200,
    output_tokens: 80,
    cache_read_tokens: 900,
    cache_write_tokens: 40,
    cost_usd: 0.0123,
  }
  return {
    leaf: answers,
    bodies: [
      {
        type: 'prompt',
        id: prompt,
        parent_id: parent,
        message: [{ type: 'text', text: 'Where is the needle, and who calls it?' }],
        origin: { kind: 'local' },
      },
      {
        type: 'message',
        id: asks,
        parent_id: prompt,
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look for it.' },
          { type: 'tool_call', id: call, name: 'bash', input },
        ],
        usage,
        stop_reason: 'tool_use',
      },
      { type: 'tool_started', call_id: call, name: 'bash', input, idempotent: false },
      {
        type: 'tool_finished',
        call_id: call,
        content: [{ type: 'text', text: 'src/hay.ts:12: needle()\n'.repeat(20) }],
        is_error: false,
        outcome: 'done',
      },
      {
        type: 'message',
        id: answers,
        parent_id: asks,
        role: 'assistant',
        content: [{ type: 'text', text: 'It is in src/hay.ts, called from twenty places. '.repeat(4) }],
        usage,
        stop_reason: 'end_turn',
      },
      { type: 'run_end', run_id: prompt, outcome: 'done', steps: 2 },
    ],
  }
}

async function folderBytes(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(async name => (await stat(join(folder, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

async function tableBytes(url: string, id: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    // With the row's own 24 bytes and its entry of the index, which pages hold beside the line.
    const { rows } = await client.query(
      'SELECT sum(pg_column_size(r.*) + 32 + pg_column_size(r.tenant) + pg_column_size(r.session)) AS bytes FROM records r WHERE session = $1',
      [id],
    )
    return Number(rows[0]?.bytes)
  } finally {
    await client.end()
  }
}
