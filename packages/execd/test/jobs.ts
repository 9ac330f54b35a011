/** What tests of jobs ask execd for: a job in a request, its state, its output. */
import {
  codeOf,
  type Execd,
  type Frame,
  type FrameStream,
  type Reply,
  type RunRequest,
  until,
} from './execd.ts'

export type JobState = {
  id: string
  scope: string
  command: string
  args: string[]
  cwd: string
  state: 'running' | 'exited'
  pid: number | null
  started_at: number
  ended_at: number | null
  exit_code: number | null
  signal: string | null
  timed_out: boolean
  kept: boolean
  stdout_bytes: number
  stderr_bytes: number
  dropped_bytes: number
}

/** A kept job of scope `s` that runs a script; `more` goes into `job`. */
export function jobOf(id: string, script: string, more: Record<string, unknown> = {}): RunRequest {
  return { command: 'sh', args: ['-c', script], job: { id, scope: 's', keep: true, ...more } }
}

/** Starts it and goes away: only the first frame is read. */
export async function startAndLeave(execd: Execd, request: RunRequest): Promise<void> {
  const { frames, close } = await execd.stream(request)
  await frames.next()
  close()
}

export async function stateOf(execd: Execd, id: string, scope = 's'): Promise<JobState> {
  const reply = await execd.send('GET', `/jobs/${id}?scope=${scope}`)
  if (reply.status !== 200) throw new Error(`job ${id}: ${reply.status} ${reply.text}`)
  return JSON.parse(reply.text)
}

export async function untilExited(execd: Execd, id: string, scope = 's'): Promise<JobState> {
  await until(`job ${id} has ended`, async () => (await stateOf(execd, id, scope)).state === 'exited')
  return await stateOf(execd, id, scope)
}

export async function listOf(execd: Execd, scope = 's'): Promise<JobState[]> {
  return JSON.parse((await execd.send('GET', `/jobs?scope=${scope}`)).text).jobs
}

export function output(execd: Execd, id: string, query = ''): Promise<FrameStream> {
  return execd.follow('GET', `/jobs/${id}/output?scope=s${query}`)
}

export async function outputFrames(execd: Execd, id: string, query = ''): Promise<Frame[]> {
  return await Array.fromAsync((await output(execd, id, query)).frames)
}

export function bytesOf(frames: readonly Frame[], type: string): Buffer {
  return Buffer.concat(
    frames.filter(frame => frame.type === type).map(frame => Buffer.from(frame.data ?? '', 'base64')),
  )
}

export function textOf(frames: readonly Frame[], type = 'stdout'): string {
  return bytesOf(frames, type).toString()
}

export function statusAndCode(reply: Reply): [number, string] {
  return [reply.status, reply.status === 200 ? 'ok' : codeOf(reply)]
}

export function post(execd: Execd, request: RunRequest): Promise<Reply> {
  return execd.send('POST', '/', JSON.stringify(request))
}

/** Reads up to a frame, and leaves the rest to be read: leaving a `for await` would end the reading. */
export async function readUpTo(frames: AsyncIterator<Frame>, type: string): Promise<void> {
  for (;;) {
    const { done, value } = await frames.next()
    if (done || value.type === type) return
  }
}
