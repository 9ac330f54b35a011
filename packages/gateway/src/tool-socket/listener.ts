/** The tool socket of one agent: who may connect to it, how many at once, and its clean end. */
import { chmodSync, chownSync, closeSync, constants, lstatSync, openSync, rmSync, symlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { makeFolder } from '../home/layout.ts'
import { serveConnection } from './connection.ts'
import { type ConnectionParts, HELLO_TIMEOUT_MS, IDLE_TIMEOUT_MS } from './serving.ts'

export const MAX_CONNECTIONS = 64

export interface ToolSocket {
  readonly connections: number
  /** Ends every connection and resolves when the last call of them has ended. */
  close(): Promise<void>
}

export type ToolSocketOptions = Omit<ConnectionParts, 'track' | 'idleMs' | 'helloMs'> & {
  path: string
  /** Who runs commands in the sandbox; null where that is ourselves. */
  user: { uid: number; gid: number } | null
  log(text: string): void
  idleMs?: number
  helloMs?: number
}

export async function openToolSocket(options: ToolSocketOptions): Promise<ToolSocket> {
  const { path, user } = options
  const folder = dirname(path)
  makeFolder(folder)
  rmSync(path, { force: true })
  const sockets = new Set<Socket>()
  const work = new Set<Promise<unknown>>()
  const parts: ConnectionParts = {
    agent: options.agent,
    identify: options.identify,
    run: options.run,
    idleMs: options.idleMs ?? IDLE_TIMEOUT_MS,
    helloMs: options.helloMs ?? HELLO_TIMEOUT_MS,
    track(promise) {
      work.add(promise)
      promise.catch(error => options.log(String(error))).finally(() => work.delete(promise))
    },
  }
  const server = createServer(socket => {
    if (sockets.size >= MAX_CONNECTIONS) {
      socket.destroy()
      return
    }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    serveConnection(socket, parts)
  })

  // A path over 107 bytes can not be bound; one through the folder's descriptor is always short.
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await listen(server, `/proc/self/fd/${descriptor}/${basename(path)}`)
    chmodSync(path, user === null ? 0o600 : 0o660)
    chmodSync(folder, user === null ? 0o700 : 0o750)
    if (user !== null) for (const place of [folder, path]) chownSync(place, process.getuid?.() ?? 0, user.gid)
    linkBeside(folder, path)
  } catch (error) {
    server.close()
    closeSync(descriptor)
    throw error
  }
  return {
    get connections() {
      return sockets.size
    },
    async close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
      await Promise.allSettled(work)
      closeSync(descriptor)
      rmSync(path, { force: true })
    },
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** `sockets/<agent>.sock` is where people look for it. */
function linkBeside(folder: string, path: string): void {
  const link = `${folder}.sock`
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link)
  symlinkSync(join(basename(folder), basename(path)), link)
}
