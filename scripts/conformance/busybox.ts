/** A static busybox: from this machine, or out of Debian's package busybox-static. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../check/command.ts'

const PLACES = [process.env.BEIGE_BUSYBOX, '/bin/busybox', '/usr/bin/busybox']
const PROGRAM_HEADER_INTERPRETER = 3
let known: Promise<Uint8Array | null> | null = null

export async function findBusybox({ mayDownload }: { mayDownload: boolean }): Promise<Uint8Array | null> {
  known ??= fromMachine()
  const found = await known
  if (found !== null || !mayDownload) return found
  known = fromPackage()
  return await known
}

async function fromMachine(): Promise<Uint8Array | null> {
  for (const path of PLACES) {
    const bytes = path ? await readFile(path).catch(() => null) : null
    if (bytes !== null && isStatic(bytes)) return bytes
  }
  return null
}

/** Nothing is installed: the package is loaded and unpacked into a folder that goes again. */
async function fromPackage(): Promise<Uint8Array | null> {
  const folder = await mkdtemp(join(tmpdir(), 'beige-busybox-'))
  try {
    const script = 'apt-get download -qq busybox-static && dpkg-deb -x busybox-static_*.deb root'
    const { exitCode } = await runCommand(['sh', '-c', script], folder)
    return exitCode === 0 ? await readFile(join(folder, 'root/bin/busybox')) : null
  } catch {
    return null
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** An ELF file of 64 bits without an interpreter. */
function isStatic(bytes: Buffer): boolean {
  if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f454c46) return false
  const [at, size, count] = [
    Number(bytes.readBigUInt64LE(32)),
    bytes.readUInt16LE(54),
    bytes.readUInt16LE(56),
  ]
  const kinds = Array.from({ length: count }, (_, index) => at + index * size)
  return kinds.every(
    place => place + 4 <= bytes.length && bytes.readUInt32LE(place) !== PROGRAM_HEADER_INTERPRETER,
  )
}
