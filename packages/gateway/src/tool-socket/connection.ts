/** One connection of the tool socket, until it is known which version it speaks. */
import type { Socket } from 'node:net'
import { TOOL_PREAMBLE } from '@beige/protocol'
import type { ConnectionParts } from './serving.ts'
import { serveV1 } from './v1.ts'
import { serveV2 } from './v2.ts'

/** Serves one connection of the tool socket; the first bytes choose the version, and nobody waits for them longer than `helloMs`. */
export function serveConnection(socket: Socket, parts: ConnectionParts): void {
  const preamble = Buffer.from(TOOL_PREAMBLE)
  let seen: Buffer = Buffer.alloc(0)
  socket.on('error', () => undefined) // its close ends everything of it
  const late = setTimeout(() => socket.destroy(), parts.helloMs)
  socket.once('close', () => clearTimeout(late))

  const begin = (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk])
    if (seen[0] === 0x7b) {
      clearTimeout(late)
      socket.off('data', begin)
      serveV1(socket, seen, parts)
    } else if (!preamble.subarray(0, seen.length).equals(seen.subarray(0, preamble.length))) socket.destroy()
    else if (seen.length >= preamble.length) {
      clearTimeout(late)
      socket.off('data', begin)
      serveV2(socket, seen.subarray(preamble.length), parts)
    }
  }
  socket.on('data', begin)
}
