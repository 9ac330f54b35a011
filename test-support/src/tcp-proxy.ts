/** A TCP proxy on 127.0.0.1 that a test makes fail as networks do: cut, silent, or with lost answers. */
import { connect, createServer, type Socket } from 'node:net'

/**
 * `pass`: forwards. `silent`: takes everything and forwards nothing, what came meanwhile is forwarded when it passes
 * again. `deaf`: forwards requests and loses their answers. `refuse`: closes new connections at once.
 */
export type ProxyMode = 'pass' | 'silent' | 'deaf' | 'refuse'

export type TcpProxy = AsyncDisposable & {
  port: number
  mode: ProxyMode
  /** Forwards what was kept while silent. */
  flush(): void
  /** Resets the clients' ends of all connections; `both`: the server's ends, too, else what was kept still arrives. */
  cut(ends: 'client' | 'both'): void
  /** Resolves when the clients have sent something from now on. */
  nextRequest(): Promise<void>
}

type Pair = { client: Socket; server: Socket; kept: Buffer[] }

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  let waiting: (() => void)[] = []

  const listener = createServer(client => {
    if (proxy.mode === 'refuse') return client.destroy()
    const pair: Pair = { client, server: connect(targetPort, '127.0.0.1'), kept: [] }
    pairs.add(pair)
    client.on('data', bytes => {
      if (proxy.mode === 'silent') pair.kept.push(bytes)
      else pair.server.write(bytes)
      for (const resolve of waiting.splice(0)) resolve()
    })
    pair.server.on('data', bytes => {
      if (proxy.mode === 'pass') client.write(bytes)
    })
    for (const socket of [client, pair.server]) socket.on('error', () => {}) // `close` follows, and is what counts
    client.on('close', () => {
      if (pair.kept.length === 0) pair.server.destroy()
    })
    pair.server.on('close', () => {
      pairs.delete(pair)
      client.destroy()
    })
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()

  const proxy: TcpProxy = {
    port: typeof address === 'object' && address ? address.port : 0,
    mode: 'pass',
    flush() {
      for (const { server, kept } of pairs) for (const bytes of kept.splice(0)) server.write(bytes)
    },
    cut(ends) {
      for (const { client, server } of pairs) {
        client.resetAndDestroy()
        if (ends === 'both') server.resetAndDestroy()
      }
    },
    nextRequest: () => new Promise(resolve => waiting.push(resolve)),
    async [Symbol.asyncDispose]() {
      waiting = []
      for (const { client, server } of pairs) {
        client.destroy()
        server.destroy()
      }
      await new Promise(resolve => listener.close(resolve))
    },
  }
  return proxy
}
