/** What a program said, as the error that the files API would have answered: it is known by the system's words at its end. */
import { fail } from '../errors.ts'

const MAX_SHOWN_CHARS = 1000

type Meaning = { words: readonly string[] } & (
  | { kind: 'not_found' }
  | { kind: 'refused'; status: number }
  | { kind: 'endpoint'; status: number; code: string }
)

// glibc's words first, they are the ones that are shown; then musl's.
const MEANINGS: readonly Meaning[] = [
  { kind: 'not_found', words: ['No such file or directory'] },
  { kind: 'not_found', words: ['Not a directory'] },
  { kind: 'refused', status: 403, words: ['Permission denied'] },
  { kind: 'refused', status: 403, words: ['Operation not permitted'] },
  { kind: 'refused', status: 403, words: ['Read-only file system'] },
  { kind: 'refused', status: 400, words: ['Too many levels of symbolic links', 'Symbolic link loop'] },
  { kind: 'refused', status: 400, words: ['File name too long', 'Filename too long'] },
  { kind: 'refused', status: 400, words: ['Is a directory'] },
  { kind: 'refused', status: 409, words: ['Directory not empty'] },
  { kind: 'endpoint', status: 409, code: 'conflict', words: ['File exists'] },
  { kind: 'endpoint', status: 507, code: 'limit', words: ['No space left on device'] },
  { kind: 'endpoint', status: 507, code: 'limit', words: ['Disk quota exceeded', 'Quota exceeded'] },
]

/** The same words whichever C library said it: execd may be built with one, and the sandbox's programs with the other. */
export function plainWords(message: string): string {
  for (const { words } of MEANINGS) {
    const [plain = '', ...others] = words
    const other = others.find(word => message.endsWith(word))
    if (other) return `${message.slice(0, -other.length)}${plain}`
  }
  return message
}

export function scriptFailure(path: string, stderr: string) {
  const meaning = MEANINGS.find(({ words }) => words.some(word => stderr.endsWith(word)))
  const [message = ''] = meaning?.words ?? []
  switch (meaning?.kind) {
    case 'not_found':
      return fail('file_not_found', { path })
    case 'refused':
      return fail('file_refused', { path, message, status: meaning.status })
    case 'endpoint': {
      const { code, status } = meaning
      return fail('endpoint_refused', { code, message, status, commandStarted: false })
    }
    default:
      return fail('file_refused', { path, message: stderr.slice(0, MAX_SHOWN_CHARS) })
  }
}
