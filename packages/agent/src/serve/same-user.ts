/**
 * Whether the other side of a loopback connection is a process of our own user, by what the kernel says of its socket. The
 * question may be asked at any time while our side is open: the four numbers then name this connection and no other.
 */
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'

export type Endpoints = {
  localAddress?: string | undefined
  localPort?: number | undefined
  remoteAddress?: string | undefined
  remotePort?: number | undefined
}

const ESTABLISHED = '01'
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'] as const

export function isSameUser(
  socket: Endpoints,
  uid: number,
  read: (path: string) => string = path => readFileSync(path, 'latin1'),
): boolean {
  const { localAddress, localPort, remoteAddress, remotePort } = socket
  if (localAddress === undefined || remoteAddress === undefined) return false
  if (!isLoopback(remoteAddress) || !isLoopback(localAddress)) return false
  // The row of its socket: what is remote for us is local there.
  const wanted = hexForms(remoteAddress, remotePort ?? 0).flatMap(local =>
    hexForms(localAddress, localPort ?? 0).map(remote => `${local} ${remote}`),
  )
  return TABLES.some(table => ownedBy(read, table, wanted, uid))
}

function ownedBy(
  read: (path: string) => string,
  table: string,
  wanted: readonly string[],
  uid: number,
): boolean {
  let text: string
  try {
    text = read(table)
  } catch {
    return false // without IPv6 there is no such table
  }
  for (const pair of wanted) {
    const at = text.indexOf(pair)
    if (at < 0) continue
    const end = text.indexOf('\n', at)
    // local remote state queues timer retransmits uid timeout inode
    const [, , state, , , , owner, , inode] = text.slice(at, end < 0 ? undefined : end).split(/ +/)
    return state === ESTABLISHED && Number(owner) === uid && Number(inode) > 0
  }
  return false
}

export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '')
  return plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'))
}

/** As the tables print it: words in the machine's order, which is little-endian on both architectures. */
function hexForms(address: string, port: number): string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const plain = address.replace(/^::ffff:/i, '')
  if (!isIPv4(plain)) return [`00000000000000000000000001000000:${hexPort}`] // ::1, the only one of IPv6
  const word = plain
    .split('.')
    .reverse()
    .map(part => Number(part).toString(16).toUpperCase().padStart(2, '0'))
    .join('')
  return [`${word}:${hexPort}`, `0000000000000000FFFF0000${word}:${hexPort}`]
}
