/** `steer` while a slow command runs: after 10 s the command goes on as a job, and the model hears what was said. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing, startExecd } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'
import { until } from './machine.ts'

const missing = execdMissing()
const skip = missing && `absent: execd (${missing})`
const COMMAND = 'echo begun > up; while [ ! -e go ]; do echo .; sleep 0.1; done; echo went'

test('a steer is heard while the command goes on', { skip }, async () => {
  await using execd = await startExecd()
  await using bench = await agentBench(({ messages }) =>
    messages.length === 1 ? { calls: [{ name: 'bash', input: { command: COMMAND } }] } : { text: 'Heard.' },
  )
  const child = bench.start(['serve', '--sandbox', `unix:${execd.socketPath}`])
  child.send({ type: 'prompt', id: 'p', message: 'go' })
  await until(() => existsSync(join(execd.root, 'up')), `it runs: ${child.stderr()}`)
  child.send({ type: 'steer', id: 's', message: 'never mind the dots' })
  await child.frame({ type: 'response', id: 'p', success: true })

  const heard = bench.seen.at(-1)?.messages ?? []
  const result = heard.flatMap(({ results }) => results).at(-1)?.text ?? ''
  assert.match(result, /\[running as job 1 after 1\d(\.\d)? s, since somebody has a word for you; bash_job/)
  assert.match(JSON.stringify(heard.at(-1)), /never mind the dots/)
  assert.equal(existsSync(join(execd.root, 'go')), false, 'the command still runs')
  writeFileSync(join(execd.root, 'go'), '')
  await child.frame({ type: 'event', event: { kind: 'job_update', job: 1, state: 'ended', exit_code: 0 } })
  child.process.stdin.end()
  assert.equal((await child.ended).code, 0, child.stderr())
})
