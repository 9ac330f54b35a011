/** `npm run bench -- <name> [--json] [--rounds n]`: one run, one table; what is said beside it goes to stderr. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Bench } from './bench.ts'
import { execBench } from './exec/exec-bench.ts'
import { execdBench } from './execd/execd-bench.ts'
import { gatewayBench } from './gateway/gateway-bench.ts'
import { renderJson, renderTable } from './output.ts'
import { prefixBench } from './prefix/prefix-bench.ts'
import { serveBench } from './serve/serve-bench.ts'
import { sessionsBench } from './sessions/sessions-bench.ts'
import { startupBench } from './startup/startup-bench.ts'

const BENCHES: readonly Bench[] = [
  execBench,
  execdBench,
  gatewayBench,
  prefixBench,
  serveBench,
  sessionsBench,
  startupBench,
]

const root = join(import.meta.dirname, '../..')
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string' } },
})
const bench = BENCHES.find(({ name }) => name === positionals[0])
const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
if (bench === undefined || positionals.length !== 1 || (rounds !== undefined && !(rounds >= 1))) {
  process.stderr.write(`usage: npm run bench -- <name> [--json] [--rounds n]\n\n`)
  for (const { name, about } of BENCHES) process.stderr.write(`  ${name.padEnd(10)} ${about}\n`)
  process.exit(2)
}

const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort())
const rows = await bench.run({
  root,
  rounds,
  signal: interrupted.signal,
  say: text => void process.stderr.write(`${text}\n`),
})
process.stdout.write(`${values.json ? renderJson(bench.name, commitOf(root), rows) : renderTable(rows)}\n`)

function commitOf(folder: string): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
