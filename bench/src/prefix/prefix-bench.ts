/**
 * `npm run bench -- prefix`: how many bytes of each request repeat the last one, over a session of 200 turns of the real
 * command with a resume by a second process in it. A prompt cache is worth as much as this share.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeWorkspace } from '@beige/sandbox'
import { type SeenRequest, startModelServer, type Turn, type WireName, wireUrl } from '@beige/test-support'
import type { Bench, BenchContext, Row } from '../bench.ts'
import { repeatOf, segmentsOf } from './segments.ts'

const TURNS = 200
const TURNS_A_PROMPT = 25
const PROMPTS = TURNS / TURNS_A_PROMPT
const SHOWN_CHARS = 160

/** `model`: one that speaks the wire at the place where its requests are led. */
const ROWS: readonly { wire: WireName; env: (url: string) => Record<string, string> }[] = [
  { wire: 'anthropic', env: url => at(url, 'anthropic', 'claude-opus-4-8') },
  { wire: 'openai-chat', env: url => at(url, '', 'scripted') },
  {
    wire: 'openai-responses',
    env: url => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: 'k', AI_AGENT_MODEL: 'gpt-5' }),
  },
  { wire: 'gemini', env: url => at(url, 'google', 'gemini-2.5-pro') },
  { wire: 'bedrock', env: url => at(url, 'bedrock', 'us.anthropic.claude-sonnet-4-6') },
]

const at = (url: string, provider: string, model: string): Record<string, string> => ({
  AI_BASE_URL: url,
  AI_API_KEY: 'k',
  AI_AGENT_MODEL: model,
  ...(provider === '' ? {} : { AI_PROVIDER: provider }),
})

export const prefixBench: Bench = {
  name: 'prefix',
  about: 'what share of each request repeats the last one, 200 turns with a resume, on every wire',
  run: async context => {
    const rows: Row[] = []
    for (const { wire, env } of ROWS) rows.push(await prefixRow(context, wire, env))
    return rows
  },
}

async function prefixRow(
  context: BenchContext,
  wire: WireName,
  env: (url: string) => Record<string, string>,
): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'beige-prefix-'))
  await using server = await startModelServer({ script: turnOf, keepRequests: TURNS + 10 })
  try {
    const workspace = join(folder, 'workspace')
    makeWorkspace(workspace)
    const home: Record<string, string> = { BEIGE_HOME: join(folder, 'home'), ...env(wireUrl(server, wire)) }
    const half = Array.from({ length: PROMPTS / 2 }, (_, i) => `Task ${i + 1}: look around and report.`)
    await agent(context, workspace, home, ['--model', home.AI_AGENT_MODEL ?? '', ...half])
    const resumedAt = server.requests.length + 1
    await agent(context, workspace, home, half)
    if (server.requests.length !== TURNS)
      throw new Error(`${wire}: ${server.requests.length} requests, not ${TURNS}`)
    return measured(context, wire, server.requests, resumedAt)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The last turn before a prompt is an answer; all others think, look and write. */
function turnOf(request: SeenRequest): Turn {
  const turn = request.messages.filter(message => message.role === 'assistant').length
  if (turn % TURNS_A_PROMPT === TURNS_A_PROMPT - 1) return { text: `Report of turn ${turn}.` }
  const command = `echo turn ${turn}; seq ${turn} ${turn + 5}`
  return {
    thinking: `Turn ${turn}: what is there to see?`,
    text: `I look at ${turn}.`,
    calls: [{ name: 'bash', input: { command } }],
  }
}

function measured(
  { say }: BenchContext,
  wire: WireName,
  requests: readonly { body: unknown; path: string }[],
  resumedAt: number,
): Row {
  let bytes = 0
  let repeated = 0
  let last = 0
  let kept = 0
  let breaks = 0
  for (const [i, request] of requests.entries()) {
    const before = requests[i - 1]
    if (before === undefined) continue
    const repeat = repeatOf(
      segmentsOf(wire, before.body, before.path),
      segmentsOf(wire, request.body, request.path),
    )
    bytes += repeat.bytes
    repeated += repeat.repeated
    last += repeat.lastBytes
    kept += repeat.repeated
    if (repeat.broken === null) continue
    breaks++
    const where = i + 1 === resumedAt ? `${i + 1} (the resume)` : i + 1
    const { kind, was, is } = repeat.broken
    say(`${wire}, request ${where}: ${kind}: ${difference(was, is)}`)
  }
  const percent = (part: number, whole: number) => Number(((100 * part) / whole).toFixed(2))
  return {
    name: wire,
    requests: requests.length,
    repeated_pct: percent(repeated, bytes),
    kept_pct: percent(kept, last),
    breaks,
    kb_last: Math.round((Buffer.byteLength(JSON.stringify(requests.at(-1)?.body ?? '')) / 1024) * 10) / 10,
  }
}

/** Where two texts part, with a little around it. */
function difference(was: string, is: string): string {
  let at = 0
  while (at < was.length && was[at] === is[at]) at++
  const from = Math.max(0, at - 40)
  return `was …${was.slice(from, from + SHOWN_CHARS)}… is …${is.slice(from, from + SHOWN_CHARS)}…`
}

async function agent(
  { root, signal }: BenchContext,
  cwd: string,
  env: Record<string, string>,
  args: readonly string[],
): Promise<void> {
  const command = [
    '--conditions=beige-source',
    join(root, 'packages/agent/src/main.ts'),
    'run',
    '--sandbox',
    'host',
    '--session-id',
    'prefix',
    ...args,
  ]
  const child = spawn(process.execPath, command, {
    cwd,
    env: { PATH: process.env.PATH, HOME: env.BEIGE_HOME, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  })
  let said = ''
  child.stderr.on('data', (piece: Buffer) => {
    said += piece.toString('utf8')
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`agent run ended with ${code}: ${said.trim().slice(-2000)}`)
}
