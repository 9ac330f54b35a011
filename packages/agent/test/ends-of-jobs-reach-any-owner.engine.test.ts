/**
 * A sandbox tells the end of a background job by itself: to another process when the agent that started it is gone, whose
 * successor then tells the model, even where the sandbox has gone too.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createExecNotify, createHost, type ExecNotifyAnswer, keepInLog } from '@beige/host'
import { systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore } from '@beige/sessions'
import {
  execdMissing,
  type Script,
  type SeenRequest,
  type Step,
  startExecd,
  taskScript,
  turnFor,
} from '@beige/test-support'
import { notifyKey } from '../src/notify.ts'
import { type AgentBench, agentBench } from './agent-bench.ts'
import { until } from './machine.ts'

const missing = execdMissing()
const skip = missing && `absent: execd (${missing})`
const background = (command: string): Step => ({
  calls: [{ name: 'bash', input: { command, run_in_background: true } }],
})
const STEPS: Script = taskScript([
  background('echo begun > up; while [ ! -e go ]; do sleep 0.02; done; exit 7'),
  { calls: [{ name: 'bash_job', input: { timeout_ms: 600_000 } }] },
  { text: 'It runs.' },
])
// Its run ends while the job goes on: only a waker can tell of the end.
const LEAVES: Script = taskScript([
  background('while [ ! -e go ]; do sleep 0.02; done; exit 7'),
  { text: 'It runs.' },
  { text: 'I heard.' },
])
const leaves = (request: SeenRequest) => JSON.stringify(request.messages).includes('leave it running')
const isLater = (request: SeenRequest) => JSON.stringify(request.messages).includes('and now?')
const SCRIPT: Script = request =>
  isLater(request) ? { text: 'I see.' } : turnFor(leaves(request) ? LEAVES : STEPS, request)

/** Another process of the same state directory, that sandboxes report to. */
async function replica(bench: AgentBench) {
  const store = createFilesStore({
    root: join(bench.home, 'sessions'),
    clock: systemClock,
    random: systemRandom,
  })
  const host = createHost({
    ...{ store, clock: systemClock, random: systemRandom },
    makeSetup: () => Promise.reject(new Error('no session is opened here')),
  })
  const notify = createExecNotify({
    ...{ host, clock: systemClock, keys: [await notifyKey(bench.home)] },
    keep: (id, state) => keepInLog(store, id, state),
  })
  const answers: ExecNotifyAnswer[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://replica')
    const answer = await notify({
      sessionId: url.searchParams.get('session_id'),
      authorization: request.headers.authorization,
      body: JSON.parse(await text(request)),
    })
    answers.push(answer)
    response.writeHead(answer.status).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    answers,
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close()
      await host.close(new Error('the test is over'))
    },
  }
}

test('a killed agent, then its sandbox: the model hears of the end from whoever was told', {
  skip,
}, async () => {
  await using bench = await agentBench(SCRIPT)
  await using other = await replica(bench)
  await using execd = await startExecd()
  const at = (socket: string, ...more: string[]) =>
    ['run', '--session-id', 's_notify', '--exec-url', `unix:${socket}`, ...more] as const
  const first = bench.start(at(execd.socketPath, '--notify-origin', other.origin, 'start it'))
  await until(() => existsSync(join(execd.root, 'up')), `it runs: ${first.stderr()}`)
  await until(() => bench.seen.length === 2, 'the model has its answer')
  first.process.kill('SIGKILL')
  await first.ended

  await execdGoesOn(execd.root)
  await until(() => other.answers.some(({ status }) => status === 202), 'it is told')
  assert.equal(other.answers.at(-1)?.outcome, 'kept')
  execd.kill()

  await using anew = await startExecd()
  const { code, stderr } = await bench.agent(at(anew.socketPath, 'and now?'))
  assert.equal(code, 0, stderr)
  const request = bench.seen.find(isLater)
  const told = JSON.stringify(request?.messages).match(/Background job 1 [^.]*\./g)
  assert.equal(told?.length, 1)
  assert.match(told?.[0] ?? '', /^Background job 1 ended: exit code 7 after /)
})

test('while its owner lives elsewhere, the sandbox is told to come again', { skip }, async () => {
  await using bench = await agentBench(SCRIPT)
  await using other = await replica(bench)
  await using execd = await startExecd()
  const args = [
    '--session-id',
    's_notify',
    '--exec-url',
    `unix:${execd.socketPath}`,
    '--notify-origin',
    other.origin,
  ]
  const owner = bench.start(['serve', ...args])
  owner.send({ type: 'prompt', id: 'p', message: 'start it' })
  await until(() => existsSync(join(execd.root, 'up')), `it runs: ${owner.stderr()}`)
  await until(() => bench.seen.length === 2, 'the model has its answer')
  await execdGoesOn(execd.root)
  await until(() => other.answers.length > 0, 'the sandbox has tried')
  assert.equal(other.answers[0]?.status, 503)
  await owner.frame({ type: 'event', event: { kind: 'job_update', job: 1, state: 'ended', exit_code: 7 } })
  owner.process.stdin.end()
  assert.equal((await owner.ended).code, 0, owner.stderr())
  await until(() => other.answers.at(-1)?.status === 202, 'it comes again until it is heard')
})

test('`agent serve` with --notify-origin is such a process, and wakes its own session', {
  skip,
}, async () => {
  await using bench = await agentBench(SCRIPT)
  await using execd = await startExecd()
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const shared = ['--exec-url', `unix:${execd.socketPath}`, '--notify-origin', origin]
  const first = bench.start(['run', '--session-id', 's_notify', ...shared, 'start it'])
  await until(() => existsSync(join(execd.root, 'up')), `it runs: ${first.stderr()}`)
  await until(() => bench.seen.length === 2, 'the model has its answer')
  first.process.kill('SIGKILL')
  await first.ended

  const server = bench.start(['serve', '--listen', `127.0.0.1:${port}`, '--on-job-end', 'wake', ...shared])
  await server.frame({ type: 'listening' })
  const at = (path: string, init: RequestInit) => fetch(`${origin}${path}`, { method: 'POST', ...init })
  const json = { 'content-type': 'application/json' }
  const stranger = await at('/_beyond/exec-notify?session_id=s_notify', { headers: json, body: '{}' })
  assert.equal(stranger.status, 401)
  await execdGoesOn(execd.root)
  const log = () => readFileSync(join(bench.home, 'sessions', 's_notify', newest(bench)), 'utf8')
  await until(() => log().includes('"exit_code":7'), `it is told: ${server.stderr()}`)

  const asked = bench.seen.length
  await rm(join(execd.root, 'go'))
  const message = JSON.stringify({ type: 'prompt', message: 'leave it running' })
  const sent = await at('/_beyond/agent?session_id=s_wake', { headers: json, body: message })
  const get_run = JSON.stringify({ type: 'get_run', run_id: sent.headers.get('x-run-id'), wait_ms: 20_000 })
  const ended = await at('/_beyond/agent?session_id=s_wake', { headers: json, body: get_run })
  assert.equal(Object(await ended.json()).data.state, 'done')
  assert.equal(bench.seen.length, asked + 2)
  await execdGoesOn(execd.root)
  await until(() => bench.seen.some(isWoken), `a run begins by itself: ${server.stderr()}`)
  server.process.kill('SIGTERM')
  await server.ended
})

const isWoken = (request: SeenRequest) =>
  JSON.stringify(request.messages.at(-1)).includes('Background job 1 ended: exit code 7')

function newest({ home }: AgentBench): string {
  const segments = readdirSync(join(home, 'sessions', 's_notify')).filter(name => name.endsWith('.jsonl'))
  return segments.sort().at(-1) ?? ''
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

const execdGoesOn = (root: string) => writeFile(join(root, 'go'), '')
