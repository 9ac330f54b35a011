/** `docker exec` without its command line: the engine's HTTP API on its socket, with connections that stay open. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { COMMAND, type Subject } from './subject.ts'

const DEFAULT_SOCKET = '/var/run/docker.sock'
const FRAME_HEAD_BYTES = 8 // stream, three zeros, length

export type DockerApi = {
  call: (method: string, path: string, body?: unknown) => Promise<Buffer>
  close: () => void
}

export function openDockerApi(dockerHost: string | undefined): DockerApi {
  const socketPath = dockerHost?.startsWith('unix://') ? dockerHost.slice('unix://'.length) : DEFAULT_SOCKET
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  return {
    close: () => agent.destroy(),
    async call(method, path, body) {
      const text = body === undefined ? '' : JSON.stringify(body)
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        request({ socketPath, agent, method, path, headers }, resolve).on('error', reject).end(text)
      })
      const answer = Buffer.concat(await response.toArray())
      if ((response.statusCode ?? 500) >= 400) throw new Error(`docker: ${method} ${path}: ${answer}`)
      return answer
    },
  }
}

/** Id of the running container with a label. */
export async function containerLabelled(api: DockerApi, label: string): Promise<string> {
  const filters = encodeURIComponent(JSON.stringify({ label: [label] }))
  const [container] = await json(api.call('GET', `/containers/json?filters=${filters}`))
  return textField(container, 'Id')
}

export function dockerExecApi(api: DockerApi, container: string): Subject {
  return {
    name: 'docker-exec-api',
    async call() {
      const create = { Cmd: COMMAND, AttachStdout: true, AttachStderr: true }
      const [created] = await json(api.call('POST', `/containers/${container}/exec`, create))
      const id = textField(created, 'Id')
      const framed = await api.call('POST', `/exec/${id}/start`, { Detach: false, Tty: false })
      // The exit code is a request of its own, and no caller does without it.
      await api.call('GET', `/exec/${id}/json`)
      return unframed(framed)
    },
  }
}

async function json(answer: Promise<Buffer>): Promise<unknown[]> {
  const value: unknown = JSON.parse((await answer).toString())
  return Array.isArray(value) ? value : [value]
}

function textField(value: unknown, name: string): string {
  const field: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  if (typeof field !== 'string') throw new Error(`docker: no ${name} in ${JSON.stringify(value)}`)
  return field
}

function unframed(bytes: Buffer): string {
  let text = ''
  let offset = 0
  while (offset + FRAME_HEAD_BYTES <= bytes.length) {
    const length = bytes.readUInt32BE(offset + 4)
    text += bytes.toString('utf8', offset + FRAME_HEAD_BYTES, offset + FRAME_HEAD_BYTES + length)
    offset += FRAME_HEAD_BYTES + length
  }
  return text
}
