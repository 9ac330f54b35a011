/** execd in images that have almost nothing: busybox and its links, or execd as the only file. */
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '@beige/protocol'
import { findExecd } from '@beige/sandbox'
import { runCommand } from '../check/command.ts'
import { findBusybox } from './busybox.ts'
import { JOB_OUTPUT_BYTES } from './limits.ts'
import type { Opened } from './targets.ts'

const USER = 10_001
const NOTIFY_PORT = 3128
const START_MS = 30_000
const REPOSITORY = 'beige-conformance'
const SOCKET = process.env.DOCKER_HOST?.startsWith('unix://')
  ? process.env.DOCKER_HOST.slice('unix://'.length)
  : '/var/run/docker.sock'

/** Why no Docker engine can be used, or null. */
export async function engineAbsent(): Promise<string | null> {
  try {
    await call('GET', '/_ping')
    return null
  } catch (error) {
    return `docker (${messageOf(error)})`
  }
}

/** A container of execd as process 1, with a folder of this machine for its socket and no network. */
export async function openContainer(hasBusybox: boolean, signal: AbortSignal): Promise<Opened> {
  const busybox = await findBusybox({ mayDownload: true })
  if (busybox === null) throw new Error('no static busybox')
  const folder = await mkdtemp(join(tmpdir(), 'beige-conformance-'))
  const sockets = join(folder, 'sockets')
  await mkdir(sockets)
  await chmod(folder, 0o711)
  await chmod(sockets, 0o777) // the container's user makes one in it
  const tag = hasBusybox ? 'busybox' : 'scratch'
  await importImage(tag, await rootFolder(folder, hasBusybox ? busybox : null))
  const { Id: id } = JSON.parse(
    await call('POST', '/containers/create', JSON.stringify(config(tag, sockets))),
  )
  const end = async () => {
    await call('DELETE', `/containers/${id}?force=1&v=1`)
    await call('DELETE', `/images/${REPOSITORY}:${tag}`).catch(() => undefined) // another run may hold it
    await rm(folder, { recursive: true, force: true })
  }
  const socketPath = join(sockets, 'exec.sock')
  try {
    await call('POST', `/containers/${id}/start`)
    await untilHealthy(socketPath, AbortSignal.any([signal, AbortSignal.timeout(START_MS)]))
  } catch (error) {
    await end()
    throw error
  }
  return {
    options: {
      endpoint: { kind: 'unix', socketPath, basePath: '' },
      // From inside, the loopback port leads to the socket on which the kit listens.
      notify: {
        listen: { socketPath: join(sockets, 'notify.sock') },
        url: `http://127.0.0.1:${NOTIFY_PORT}`,
      },
      ...(hasBusybox ? {} : { programs: busybox }),
    },
    [Symbol.asyncDispose]: end,
  }
}

function config(tag: string, sockets: string): object {
  const env = {
    EXECD_LISTEN: 'unix:/sockets/exec.sock',
    EXECD_FORWARD: `127.0.0.1:${NOTIFY_PORT}=/sockets/notify.sock`,
    EXECD_JOB_OUTPUT_BYTES: String(JOB_OUTPUT_BYTES),
  }
  return {
    Image: `${REPOSITORY}:${tag}`,
    User: `${USER}:${USER}`,
    Entrypoint: ['/execd'],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    HostConfig: {
      ...{ NetworkMode: 'none', CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges:true'] },
      Binds: [`${sockets}:/sockets`],
      Tmpfs: { '/workspace': `rw,exec,uid=${USER},gid=${USER},mode=700` },
    },
  }
}

async function rootFolder(folder: string, busybox: Uint8Array | null): Promise<string> {
  const root = join(folder, 'rootfs')
  await mkdir(root)
  await copyFile(findExecd(), join(root, 'execd'))
  await chmod(join(root, 'execd'), 0o755)
  if (busybox === null) return root
  for (const path of ['bin', 'etc', 'tmp']) await mkdir(join(root, path))
  await chmod(join(root, 'tmp'), 0o1777)
  await writeFile(
    join(root, 'etc/passwd'),
    `root:x:0:0:root:/:/bin/sh\nuser:x:${USER}:${USER}::/tmp:/bin/sh\n`,
  )
  const file = join(root, 'bin/busybox')
  await writeFile(file, busybox, { mode: 0o755 })
  const { output } = await runCommand([file, '--list'], folder)
  for (const name of output.split('\n').filter(name => name !== '' && name !== 'busybox')) {
    await symlink('busybox', join(root, 'bin', name))
  }
  return root
}

async function importImage(tag: string, root: string): Promise<void> {
  const file = `${root}.tar`
  const { exitCode, output } = await runCommand(
    ['tar', '-C', root, '--owner=0', '--group=0', '-cf', file, '.'],
    '/',
  )
  if (exitCode !== 0) throw new Error(`tar: ${output}`)
  const path = `/images/create?fromSrc=-&repo=${REPOSITORY}&tag=${tag}`
  await call('POST', path, await readFile(file), 'application/x-tar')
}

async function untilHealthy(socketPath: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    try {
      await call('GET', '/health', undefined, '', socketPath)
      return
    } catch {
      await wait(50, undefined, { signal })
    }
  }
}

function call(
  method: string,
  path: string,
  body?: string | Uint8Array,
  type = 'application/json',
  socketPath = SOCKET,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers =
      body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }
    const sent = request({ socketPath, method, path, headers, agent: false }, async response => {
      let text = ''
      try {
        for await (const part of response.setEncoding('utf8')) text += part
      } catch (error) {
        return reject(error)
      }
      const status = response.statusCode ?? 0
      if (status < 300) resolve(text)
      else reject(new Error(`${method} ${path}: ${status} ${text.slice(0, 300)}`))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
