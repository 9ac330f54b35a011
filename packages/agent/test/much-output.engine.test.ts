/**
 * Much output (256 MB; `OUTPUT_MB=2048` for more than any file holds), one line of 10 MB and all byte values through `agent`: the model gets head, tail and a handle, and neither
 * the agent nor execd needs more memory for it.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { execdMissing, type Script, type Step, startExecd, taskScript, turnFor } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'

const missing = execdMissing()
const skip = missing && `absent: execd (${missing})`
const MB = 1024 * 1024
const OUTPUT_MB = Number(process.env.OUTPUT_MB ?? 256)
const MAX_AGENT_MB = 128 // above idle, from source and on a busy machine; the aim is 64, and what is seen is printed
const MAX_EXECD_MB = 16

const bash = (command: string): Step => ({ calls: [{ name: 'bash', input: { command } }] })
const LINES = `echo first; yes "$(printf '%0999d' 7)" | head -c ${OUTPUT_MB * MB - 12}; echo; echo last`
const handleIn = (text = '') => /read (\/session\/spill\/\S+) shows/.exec(text)?.[1] ?? ''

const STEP_COUNT = 6
const STEPS = taskScript([
  bash('true'),
  bash(LINES),
  ({ lastResult }) => ({ calls: [{ name: 'read', input: { path: handleIn(lastResult?.text), limit: 2 } }] }),
  bash('head -c 10485760 /dev/zero | tr "\\0" x'),
  bash('awk \'BEGIN { for (n = 0; n < 256; n++) printf "%c", n }\' | LC_ALL=C od -An -tx1 | md5sum'),
  { text: 'Seen.' },
])

/** Peak resident memory since the last call, in MB, and from now on anew. */
function peakMb(pid: number): number {
  const kb = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return Number(kb) / 1024
}

test('H30 the memory of agent and execd does not depend on what a command says', {
  skip,
  timeout: 600_000,
}, async context => {
  await using execd = await startExecd()
  const peaks: { agent: number; execd: number }[] = []
  const pids = { agent: 0 }
  const over = Promise.withResolvers<void>()
  const script: Script = request => {
    if (peaks.length === STEP_COUNT - 1) over.resolve()
    peaks.push({ agent: peakMb(pids.agent), execd: peakMb(execd.pid) })
    return turnFor(STEPS, request)
  }
  await using bench = await agentBench(script)
  const child = bench.start(['serve', '--sandbox', `unix:${execd.socketPath}`])
  pids.agent = child.process.pid ?? 0
  child.send({ type: 'prompt', id: 'p', message: 'go' })
  await Promise.race([over.promise, child.ended])
  await child.frame({ type: 'response', id: 'p' })
  child.process.stdin.end()
  assert.equal((await child.ended).code, 0, child.stderr())

  const [, idle, much] = peaks
  const last = peaks.at(-1)
  const above = (peak = idle) => Math.round((peak?.agent ?? 0) - (idle?.agent ?? 0))
  const worst = Math.max(...peaks.slice(2).map(peak => above(peak)))
  const held = Math.max(...peaks.slice(2).map(peak => peak.execd))
  context.diagnostic(
    `${OUTPUT_MB} MB: agent ${above(much)} MB above idle (${Math.round(idle?.agent ?? 0)} MB), execd ${held.toFixed(1)} MB; at the end ${above(last)} MB above`,
  )
  assert.ok(worst < MAX_AGENT_MB, `agent: ${worst} MB above idle`)
  assert.ok(held < MAX_EXECD_MB, `execd: ${held} MB`)

  const results =
    bench.seen.at(-1)?.messages.flatMap(message => message.results.map(({ text }) => text)) ?? []
  const [, cut = '', part = '', line = ''] = results
  assert.match(cut, /^first\n0{998}7\n/)
  assert.match(cut, /\nlast$/)
  assert.match(
    cut,
    /\[… [\d,]+ lines \([\d.]+[MG]B\) left out here; read \/session\/spill\/\S+ shows any part of it …\]/,
  )
  assert.match(part, /^ {5}1\t.*\n {5}2\t0{998}7\n/)
  assert.match(
    line,
    /^x{1000,}\n\[… 10\.0MB left out here; read \/session\/spill\/\S+ shows .* …\]\nx{1000,}$/,
  )
})
