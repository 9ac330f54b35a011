/** The part of the Docker engine's HTTP API that the driver uses, over its Unix socket. Idle connections hold no process. */
import { isError } from '@beige/protocol'
import { arr, bool, compile, int, map, nullable, obj, opt, str } from '@earendil-works/pi-schema'
import { createTransport, type WholeAnswer } from '../../client/transport.ts'
import { fail } from '../../errors.ts'

const MAX_ANSWER_BYTES = 4 * 1024 * 1024
const SILENCE_MS = 60_000 // a slow disk makes a slow engine

const version = compile(obj({ Version: str(), ApiVersion: str() }, { open: true }))
const created = compile(obj({ Id: str() }, { open: true }))
const image = compile(obj({ Id: str() }, { open: true }))
const message = compile(obj({ message: str() }, { open: true }))
const container = compile(
  obj(
    {
      Id: str(),
      Name: str(),
      State: obj(
        { Running: bool(), Paused: bool(), OOMKilled: opt(bool()), ExitCode: opt(int()), Error: opt(str()) },
        { open: true },
      ),
      Config: obj({ Image: str(), User: str(), Labels: nullable(map(str())) }, { open: true }),
      HostConfig: obj(
        {
          Memory: int(),
          NanoCpus: int(),
          PidsLimit: nullable(int()),
          NetworkMode: str(),
          ReadonlyRootfs: bool(),
          CapDrop: nullable(arr(str())),
          Privileged: bool(),
        },
        { open: true },
      ),
    },
    { open: true },
  ),
)

export type Container = {
  id: string
  name: string
  image: string
  labels: Readonly<Record<string, string>>
  running: boolean
  paused: boolean
  /** Its last state for people: `exit code 2`. */
  ended: string
  limits: { memoryBytes: number; cpus: number; pids: number | null }
  network: string
}

export type Engine = {
  version(signal: AbortSignal): Promise<string>
  hasImage(name: string, signal: AbortSignal): Promise<boolean>
  /** Makes an image of one layer out of a tar archive. */
  importImage(repo: string, tag: string, tar: Buffer, signal: AbortSignal): Promise<void>
  /** Null when there is none of that name or id. */
  find(nameOrId: string, signal: AbortSignal): Promise<Container | null>
  /** Null when the name is taken. */
  create(name: string, config: object, signal: AbortSignal): Promise<string | null>
  start(id: string, signal: AbortSignal): Promise<void>
  pause(id: string, signal: AbortSignal): Promise<void>
  unpause(id: string, signal: AbortSignal): Promise<void>
  /** Ends and removes it; nothing when it is gone already. */
  remove(id: string, signal: AbortSignal): Promise<void>
  lastLog(id: string, signal: AbortSignal): Promise<string>
}

export function createEngine(socketPath: string): Engine {
  const transport = createTransport({ kind: 'unix', socketPath, basePath: '' })

  async function call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    signal: AbortSignal,
    body?: { type: string; bytes: string | Buffer },
  ): Promise<WholeAnswer> {
    const headers = body ? { 'content-type': body.type } : {}
    const wire = { method, path, headers, silenceMs: SILENCE_MS, ...(body ? { body: body.bytes } : {}) }
    try {
      return await transport.send(wire, signal, MAX_ANSWER_BYTES)
    } catch (error) {
      if (!isError(error, 'endpoint_unreachable', 'endpoint_lost')) throw error
      const reason = String(error.data.reason)
      throw fail(
        reason === 'EACCES' ? 'engine_forbidden' : 'no_engine',
        { socket: socketPath, reason },
        error,
      )
    }
  }

  const allowed = (answer: WholeAnswer, what: string, ...statuses: number[]) => {
    if (answer.status < 300 || statuses.includes(answer.status)) return answer
    const said = parse(answer, message)?.message ?? `status ${answer.status}`
    throw fail('engine_refused', { what, message: said })
  }

  const expect = <T>(answer: WholeAnswer, schema: { check(value: unknown): value is T }, what: string): T => {
    const value = parse(allowed(answer, what), schema)
    if (value === null) throw fail('engine_refused', { what, message: 'an answer of another shape' })
    return value
  }

  const act = async (id: string, verb: string, signal: AbortSignal) => {
    const path = `/containers/${encodeURIComponent(id)}/${verb}`
    allowed(await call('POST', path, signal), verb, 304, 409)
  }

  return {
    async version(signal) {
      return expect(await call('GET', '/version', signal), version, 'its version').Version
    },
    async hasImage(name, signal) {
      const answer = await call('GET', `/images/${encodeURIComponent(name)}/json`, signal)
      return answer.status !== 404 && expect(answer, image, `image ${name}`).Id !== ''
    },
    async importImage(repo, tag, tar, signal) {
      const path = `/images/create?fromSrc=-&repo=${encodeURIComponent(repo)}&tag=${encodeURIComponent(tag)}`
      allowed(
        await call('POST', path, signal, { type: 'application/x-tar', bytes: tar }),
        `importing ${repo}:${tag}`,
      )
    },
    async find(nameOrId, signal) {
      const answer = await call('GET', `/containers/${encodeURIComponent(nameOrId)}/json`, signal)
      if (answer.status === 404) return null
      const { Id, Name, State, Config, HostConfig } = expect(answer, container, `container ${nameOrId}`)
      return {
        id: Id,
        name: Name.replace(/^\//, ''),
        image: Config.Image,
        labels: Config.Labels ?? {},
        running: State.Running,
        paused: State.Paused,
        ended: State.Error || (State.OOMKilled ? 'out of memory' : `exit code ${State.ExitCode ?? '?'}`),
        limits: {
          memoryBytes: HostConfig.Memory,
          cpus: HostConfig.NanoCpus / 1e9,
          pids: HostConfig.PidsLimit,
        },
        network: HostConfig.NetworkMode,
      }
    },
    async create(name, config, signal) {
      const body = { type: 'application/json', bytes: JSON.stringify(config) }
      const answer = await call('POST', `/containers/create?name=${encodeURIComponent(name)}`, signal, body)
      return answer.status === 409 ? null : expect(answer, created, `container ${name}`).Id
    },
    async start(id, signal) {
      allowed(await call('POST', `/containers/${encodeURIComponent(id)}/start`, signal), 'start', 304)
    },
    pause: (id, signal) => act(id, 'pause', signal),
    unpause: (id, signal) => act(id, 'unpause', signal),
    async remove(id, signal) {
      const path = `/containers/${encodeURIComponent(id)}?force=1&v=1`
      allowed(await call('DELETE', path, signal), 'remove', 404, 409) // 409: its removal is under way
    },
    async lastLog(id, signal) {
      const path = `/containers/${encodeURIComponent(id)}/logs?stdout=1&stderr=1&tail=20`
      const answer = await call('GET', path, signal)
      return answer.status === 200 ? withoutFrames(answer.bytes) : ''
    },
  }
}

function parse<T>(answer: WholeAnswer, schema: { check(value: unknown): value is T }): T | null {
  try {
    const value: unknown = JSON.parse(answer.bytes.toString('utf8'))
    return schema.check(value) ? value : null
  } catch {
    return null
  }
}

// Each piece of a log has a head of 8 bytes, the last four of which are its length.
function withoutFrames(bytes: Buffer): string {
  let text = ''
  for (let at = 0; at + 8 <= bytes.length; ) {
    const end = at + 8 + bytes.readUInt32BE(at + 4)
    text += bytes.subarray(at + 8, end).toString('utf8')
    at = end
  }
  return text.trim()
}
