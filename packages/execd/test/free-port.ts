/** A loopback port that nobody listens on at this moment. */
import { createServer } from 'node:net'

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise<void>(resolve => server.once('listening', () => resolve()))
  const address = server.address()
  await new Promise<void>(resolve => server.close(() => resolve()))
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
