/**
 * An `exec/2` endpoint in Node that is wrong on purpose: right without a switch, and wrong in one way with each. It proves
 * the conformance kit, and is nothing that a tool may run in: its commands are this process's children.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerFrames, answerWhole } from './wrong-endpoint/answers.ts'
import type { Defect, Has } from './wrong-endpoint/defects.ts'
import { answerFile, answerList, answerStat } from './wrong-endpoint/files.ts'
import { createJobs, describe, type Job, type Jobs } from './wrong-endpoint/jobs.ts'
import { type FindMarked, markedFinder } from './wrong-endpoint/processes.ts'
import { startRun } from './wrong-endpoint/run.ts'
import { parseWanted, Refusal, readBody, sendJson, sendRefusal, type Wanted } from './wrong-endpoint/wire.ts'

export { DEFECTS, type Defect } from './wrong-endpoint/defects.ts'

const MAX_REQUEST_BYTES = 16 * 1024 * 1024
const MAX_RESPONSE_BYTES = 2 * 1024 * 1024
const MAX_JOB_OUTPUT_BYTES = 1024 * 1024
const FEATURES = ['stream', 'jobs', 'notify', 'files', 'fence']
const TOKEN = 'the-token-of-the-wrong-endpoint'

export type WrongExecEndpoint = AsyncDisposable & {
  url: string
  headers: Readonly<Record<string, string>>
}

type Service = {
  has: Has
  root: string
  jobs: Jobs
  fences: Map<string, number>
  instance: () => string
  env: Readonly<Record<string, string>>
  findMarked: FindMarked
}
type Call = { request: IncomingMessage; response: ServerResponse; path: string[]; query: URLSearchParams }

export async function startWrongExecEndpoint(defects: readonly Defect[] = []): Promise<WrongExecEndpoint> {
  const root = await mkdtemp(join(tmpdir(), 'wrong-endpoint-'))
  const has: Has = defect => defects.includes(defect)
  const instance = randomUUID()
  const service: Service = {
    ...{ has, root, fences: new Map(), findMarked: markedFinder() },
    jobs: createJobs(has, instance, MAX_JOB_OUTPUT_BYTES),
    instance: () => (has('new_instance_each_time') ? randomUUID() : instance),
    env: {
      ...{ PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: root, LANG: 'C.UTF-8' },
      ...(has('shows_own_environment') ? { EXECD_LISTEN: 'somewhere' } : {}),
    },
  }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://endpoint')
    const path = pathname.split('/').filter(Boolean).map(decodeURIComponent)
    response.on('error', () => undefined)
    answer(service, { request, response, path, query: searchParams }).catch(error =>
      sendRefusal(response, error),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    headers: { authorization: `Bearer ${TOKEN}` },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      service.jobs.close()
      await service.jobs.killAll(service.jobs.all().filter(job => !job.run.end))
      await rm(root, { recursive: true, force: true })
    },
  }
}

async function answer(service: Service, call: Call): Promise<void> {
  const { has, root } = service
  const { request, response, path, query } = call
  if (request.headers.authorization !== `Bearer ${TOKEN}` && !has('takes_any_token')) {
    throw new Refusal('unauthorized', 'unauthorized')
  }
  if (!has('ignores_fence')) passFence(service.fences, request.headers['x-exec-fence'])
  const file = { request, response, query, root, has, maxBytes: MAX_REQUEST_BYTES }
  switch (`${request.method} ${path[0] ?? ''}`) {
    case 'GET health':
      return sendJson(response, 200, health(service))
    case 'POST ':
      return await answerCommand(service, call)
    case 'GET files':
    case 'PUT files':
    case 'DELETE files':
      return await answerFile(file)
    case 'GET stat':
      return await answerStat(file)
    case 'GET list':
      return await answerList(file)
    case 'DELETE scopes':
      return await killScope(service, call)
  }
  if (path[0] !== 'jobs') throw new Refusal('not_found', 'no such call')
  return await answerJobs(service, call)
}

function health({ instance }: Service): object {
  const limits = {
    max_request_bytes: MAX_REQUEST_BYTES,
    max_response_bytes: MAX_RESPONSE_BYTES,
    max_jobs: 256,
    max_job_output_bytes: MAX_JOB_OUTPUT_BYTES,
  }
  return { protocol: 'exec/2', version: '0', instance: instance(), features: FEATURES, limits }
}

function passFence(fences: Map<string, number>, header: string | string[] | undefined): void {
  const [, scope = '', number = ''] = /^(\S+) (\d+)$/.exec(String(header ?? '')) ?? []
  if (scope === '') return
  const highest = fences.get(scope) ?? 0
  if (Number(number) < highest) throw new Refusal('conflict', `owner ${highest} has taken over`)
  fences.set(scope, Number(number))
}

async function answerCommand(
  { has, root, jobs, env, findMarked }: Service,
  { request, response }: Call,
): Promise<void> {
  const most = has('takes_oversized') ? Number.POSITIVE_INFINITY : MAX_REQUEST_BYTES
  const body = await readBody(request, most)
  const wanted = parseOr500(body, has)
  const job = jobs.begin(wanted, maxHeldBytes =>
    startRun(wanted, { has, root, env, findMarked, maxHeldBytes }),
  )
  response.once('close', () => {
    const isDone = response.writableFinished || job.keep || job.run.end !== null
    if (!isDone && !has('ignores_disconnect')) void job.run.kill()
  })
  if (!wanted.stream) return await answerWhole(job.run, response, { has, maxBytes: MAX_RESPONSE_BYTES })
  const from = { stdout: 0, stderr: 0 }
  const slows = () => !job.keep
  await answerFrames(job.run, response, { has, job: job.id, from, slows, waitMs: null, isOutputCall: false })
}

function parseOr500(body: Buffer, has: Has): Wanted {
  try {
    return parseWanted(body, has('takes_any_id'))
  } catch (error) {
    if (!has('malformed_is_500')) throw error
    throw new Refusal('internal', String(error))
  }
}

async function answerJobs({ has, jobs }: Service, { request, response, path, query }: Call): Promise<void> {
  const scope = query.get('scope') ?? ''
  const [, id, part] = path
  if (id === undefined) {
    return sendJson(response, 200, { jobs: jobs.list(scope).map(job => describe(job, has)) })
  }
  const job = jobs.find(scope, id)
  switch (`${request.method} ${part ?? ''}`) {
    case 'GET ':
      return sendJson(response, 200, describe(job, has))
    case 'PATCH ': {
      const { notify } = JSON.parse((await readBody(request, MAX_REQUEST_BYTES)).toString())
      jobs.keep(job, notify)
      return sendJson(response, 200, describe(job, has))
    }
    case 'DELETE ':
      return await killJob(job, jobs, response, has)
    case 'GET output': {
      const offset = (name: string) => (has('output_from_start') ? 0 : Number(query.get(name) ?? 0))
      const wait = query.get('wait_ms')
      return await answerFrames(job.run, response, {
        ...{ has, job: id, slows: () => false, isOutputCall: true },
        from: { stdout: offset('stdout'), stderr: offset('stderr') },
        waitMs: wait === null ? null : Number(wait),
      })
    }
    case 'POST stdin': {
      const bytes = await readBody(request, MAX_REQUEST_BYTES)
      if (!job.run.writeStdin(bytes, query.get('eof') === '1'))
        throw new Refusal('conflict', 'its stdin is closed')
      return sendJson(response, 200, {})
    }
  }
  throw new Refusal('not_found', 'no such call')
}

async function killJob(job: Job, jobs: Jobs, response: ServerResponse, has: Has): Promise<void> {
  const end = job.run.kill()
  if (!has('delete_is_not_awaited')) await end
  if (has('second_delete_is_404')) jobs.remove(job)
  sendJson(response, 200, describe(job, has))
}

async function killScope({ has, jobs }: Service, { response, path }: Call): Promise<void> {
  const some = has('scope_kill_does_nothing') ? [] : jobs.list(path[1] ?? '')
  await jobs.killAll(some)
  for (const job of some) jobs.remove(job)
  sendJson(response, 200, {})
}
