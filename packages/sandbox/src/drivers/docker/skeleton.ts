/** An image of empty folders, made in a moment and without a registry; the programs in it are this machine's, mounted. */
import { createHash } from 'node:crypto'
import type { HostUsr } from '../host-usr.ts'
import type { Engine } from './engine.ts'

export const REPOSITORY = 'beige-sandbox'
const BLOCK = 512
const FOLDERS = [
  'beige',
  'dev',
  'etc',
  'home/agent',
  'proc',
  'run',
  'skills',
  'sys',
  'tools/bin',
  'usr',
  'workspace',
]
const OPEN_FOLDERS = ['tmp', 'var/tmp'] // a tmpfs that is mounted there takes the mode of what it covers

/** Its full name, made where it is missing. The name has the digest of the content, so another content is another image. */
export async function skeletonImage(engine: Engine, usr: HostUsr, signal: AbortSignal): Promise<string> {
  const tar = skeletonTar(usr)
  const tag = `host-usr-${createHash('sha256').update(tar).digest('hex').slice(0, 12)}`
  const name = `${REPOSITORY}:${tag}`
  if (!(await engine.hasImage(name, signal))) await engine.importImage(REPOSITORY, tag, tar, signal)
  return name
}

function skeletonTar({ folders, links }: HostUsr): Buffer {
  const top = folders.filter(path => path !== '/usr' && !path.startsWith('/etc/')).map(path => path.slice(1))
  const blocks = [
    ...[...FOLDERS, 'var', ...top].flatMap(withParents).map(path => header(`${path}/`, '5', '', 0o755)),
    ...OPEN_FOLDERS.map(path => header(`${path}/`, '5', '', 0o1777)),
    ...links.map(({ path, target }) => header(path.slice(1), '2', target, 0o777)),
  ]
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

function withParents(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_part, at) => parts.slice(0, at + 1).join('/'))
}

// One ustar header; folders and links have no content behind it.
function header(name: string, type: '2' | '5', target: string, mode: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`
  block.write(name, 0)
  block.write(octal(mode, 8), 100)
  block.write(octal(0, 8) + octal(0, 8) + octal(0, 12) + octal(0, 12), 108) // uid, gid, size, mtime
  block.write(' '.repeat(8), 148) // the checksum counts as spaces while it is made
  block.write(type, 156)
  block.write(target, 157)
  block.write('ustar\x0000', 257)
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  )
  return block
}
