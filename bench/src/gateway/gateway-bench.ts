/** `npm run bench -- gateway`: what the gateway adds to a streamed answer, budgets and audit on, beside the provider alone. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { Bench, BenchContext, Row } from '../bench.ts'
import { watchPeak } from '../memory-peak.ts'
import { rounded } from '../output.ts'
import { memoryOf, treeOf } from '../process-memory.ts'
import { median } from '../quantile.ts'
import type { LoadResult } from './load-main.ts'

const AT_ONCE = [1, 32, 256] as const
const ROUNDS = 3
const PIECES = 50
const EVERY_MS = 20 // as fast as models write
const LOAD_MS = 5000
const READY_MS = 60_000

export const gatewayBench: Bench = {
  name: 'gateway',
  about: 'streamed answers from the provider alone and through the gateway, with budgets and audit',
  async run(context) {
    await using opened = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'beige-bench-'))
    opened.defer(() => rmSync(folder, { recursive: true, force: true }))
    const provider = startNode(join(import.meta.dirname, 'paced-provider.ts'), [
      String(PIECES),
      String(EVERY_MS),
    ])
    opened.defer(() => stopped(provider))
    const direct = `http://127.0.0.1:${await firstLine(provider)}`
    const gateway = await startGateway(context, folder, direct, opened)
    return await measure(context, direct, gateway)
  },
}

type Gateway = { pid: number; url: string; key: string }

async function startGateway(
  { root }: BenchContext,
  folder: string,
  providerUrl: string,
  opened: AsyncDisposableStack,
): Promise<Gateway> {
  const main = join(root, 'packages/gateway/dist/main.js')
  if (!existsSync(main)) throw new Error(`${main} is not there; run: npm run build`)
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const model = { id: 'demo', contextWindow: 128_000, maxTokens: 16_384, cost: { input: 1, output: 4 } }
  const config = {
    llm: {
      providers: {
        bench: {
          apiKey: 'not-a-key',
          baseUrl: `${providerUrl}/v1`,
          api: 'openai-completions',
          models: [model],
        },
      },
      budget: { usdPerDay: 100_000 },
    },
    agents: {
      bench: {
        model: { provider: 'bench', model: 'demo' },
        tools: [],
        sandbox: { driver: 'remote', url: 'http://127.0.0.1:9' }, // nobody is there, and nobody is needed
      },
    },
    gateway: { port: 0 },
  }
  writeFileSync(join(home, 'config.json5'), JSON.stringify(config), { mode: 0o600 })
  const env = { PATH: process.env.PATH ?? '', HOME: home, BEIGE_HOME: home }
  const beige = (args: readonly string[]) =>
    spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const limits = ['--usd-per-day', '100000', '--rpm', '1000000']
  const made = beige(['keys', 'create', '--label', 'bench', '--model', 'bench/demo', ...limits])
  const key = (await text(made.stdout)).trim()
  const child = beige(['gateway', 'start', '--foreground'])
  opened.defer(() => stopped(child))
  await readyLine(child)
  const { port } = JSON.parse(readFileSync(join(home, 'run/gateway.json'), 'utf8'))
  return { pid: child.pid ?? 0, url: `http://127.0.0.1:${port}`, key }
}

async function measure({ rounds = ROUNDS, say, signal }: BenchContext, direct: string, gateway: Gateway) {
  const rows: Row[] = []
  for (const streams of AT_ONCE) {
    const results = { direct: [] as LoadResult[], gateway: [] as LoadResult[] }
    let kb = 0
    for (let round = 1; round <= rounds; round++) {
      signal.throwIfAborted()
      say(`${streams} at once, round ${round} of ${rounds}`)
      results.direct.push(await load(direct, 'none', 'demo', streams))
      const before = memoryOf(treeOf(gateway.pid), false).rssMb
      using watch = watchPeak(gateway.pid)
      results.gateway.push(await load(gateway.url, gateway.key, 'bench/demo', streams))
      kb = Math.max(kb, ((watch.peak.rssMb - before) * 1024) / streams)
    }
    rows.push(rowOf(`direct-${streams}`, results.direct, null))
    rows.push(rowOf(`gateway-${streams}`, results.gateway, kb))
  }
  return rows
}

function rowOf(name: string, results: readonly LoadResult[], kb: number | null): Row {
  const of = (pick: (one: LoadResult) => number) => rounded(median(results.map(pick)))
  return {
    name,
    ttfb_p50_ms: of(one => one.ttfbMs.p50),
    ttfb_p99_ms: of(one => one.ttfbMs.p99),
    chunk_p50_ms: of(one => one.chunkMs.p50),
    chunk_p99_ms: of(one => one.chunkMs.p99),
    per_s: of(one => one.requests / one.seconds),
    ...(kb === null ? {} : { kb_per_stream: rounded(kb) }),
  }
}

async function load(url: string, key: string, model: string, streams: number): Promise<LoadResult> {
  const args = [`${url}/v1/chat/completions`, key, model, String(streams), String(LOAD_MS)]
  const child = startNode(join(import.meta.dirname, 'load-main.ts'), args)
  const out = child.stdout === null ? '' : await text(child.stdout)
  const result: LoadResult = JSON.parse(out)
  return result
}

function startNode(program: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--conditions=beige-source', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) return ''
  const [line] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(READY_MS) })
  return String(line)
}

async function readyLine(child: ChildProcess): Promise<void> {
  if (child.stdout === null) return
  const lines = createInterface(child.stdout)
  for (;;) {
    const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(READY_MS) })
    if (String(line).startsWith('gateway ready')) return
  }
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await closed
}
