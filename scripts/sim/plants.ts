/**
 * Bugs to be caught, each put around what a replica is handed: production code knows nothing of them. A simulator that
 * does not see one of these would not see a real one.
 */
import { crc32 } from 'node:zlib'
import type { CallId } from '@beige/protocol'
import type { Disk, WritableFile } from '@beige/sessions'
import type { Plant } from './world/replica.ts'

export const PLANT_NAMES = [
  'skip-fsync',
  'skip-fence-check',
  'ack-before-commit',
  'reuse-call-id',
  'drop-prev',
] as const
export type PlantName = (typeof PLANT_NAMES)[number] | 'none'

export function isPlantName(text: string): text is PlantName {
  return text === 'none' || PLANT_NAMES.some(name => name === text)
}

export const plants: Readonly<Record<PlantName, () => Plant>> = {
  none: () => ({}),
  'skip-fsync': () => ({ disk: disk => withFiles(disk, file => ({ ...file, sync: async () => {} })) }),
  'skip-fence-check': () => ({ disk: neverFenced }),
  'ack-before-commit': () => ({
    disk: (disk, process) =>
      withFiles(disk, file => ({
        ...file,
        // Answered at once, and really written some time later.
        write: async (bytes, offset) =>
          void process.after(20, 'writes at last', () => void file.write(bytes, offset).catch(() => {})),
      })),
  }),
  'reuse-call-id': () => ({
    tools(tools) {
      const used = new Map<string | null, CallId>()
      return tools.map(tool => ({
        ...tool,
        run(input, context) {
          const callId = used.get(context.sessionId) ?? context.callId
          used.set(context.sessionId, callId)
          return tool.run(input, { ...context, callId })
        },
      }))
    },
  }),
  'drop-prev': () => ({
    disk: disk =>
      withFiles(disk, file => ({ ...file, write: (bytes, at) => file.write(withoutPrev(bytes), at) })),
  }),
}

function withFiles(disk: Disk, wrap: (file: WritableFile) => WritableFile): Disk {
  return {
    ...disk,
    async create(path) {
      const file = await disk.create(path)
      return file && path.endsWith('.jsonl') ? wrap(file) : file
    },
  }
}

/** What this process made is there for ever, and nothing that others make. */
function neverFenced(disk: Disk): Disk {
  const own = new Map<string, string>()
  return {
    ...disk,
    async create(path) {
      const file = await disk.create(path)
      if (file) own.set(path, file.identity)
      return file
    },
    async openDirectory(path) {
      const directory = await disk.openDirectory(path)
      return directory && { ...directory, identityOf: async name => own.get(`${path}/${name}`) ?? null }
    },
  }
}

const PREV = /"prev":"[0-9a-f]{32}"/
const SEALED = /^(.*),"sum":"[0-9a-f]{8}"\}$/

/** Each line as if nothing were before it, its own checksum right. */
function withoutPrev(bytes: Uint8Array): Uint8Array {
  const lines = Buffer.from(bytes).toString('utf8').split('\n')
  return Buffer.from(
    lines
      .map(line => {
        const [, opened] = SEALED.exec(line) ?? []
        if (opened === undefined || !opened.startsWith('{"seq"')) return line
        const bare = opened.replace(PREV, `"prev":"${'0'.repeat(32)}"`)
        return `${bare},"sum":"${crc32(Buffer.from(bare)).toString(16).padStart(8, '0')}"}`
      })
      .join('\n'),
  )
}
