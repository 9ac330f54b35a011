/** What a run is told: piped stdin first of all, then `@file`s, then the tasks as they stand. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { imageOf } from '@beige/harness'
import { messageOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { ProcessWorld } from '../process-world.ts'

const MAX_FILE_BYTES = 4 * 1_048_576
const MAX_STDIN_BYTES = 4 * 1_048_576
const STDIN_WAIT_MS = 3000

export type Task = { message: string; images: { media_type: string; data: string }[] }

/**
 * Tasks in order; the first also carries what was piped in and the files, so there is one even where no text was given.
 * Throws `bad_value` that names the file, or says that stdin is too much.
 */
export async function taskInput(
  args: readonly string[],
  world: ProcessWorld,
  signal: AbortSignal,
): Promise<Task[]> {
  const files = args.filter(isFile)
  const texts = args.filter(arg => !isFile(arg))
  const piped = await pipedText(world, texts.some(text => text.trim() !== '') || files.length > 0, signal)
  const read = files.map(name => readGiven(name.slice(1), world.cwd))
  const images = read.flatMap(one => (one.image ? [one.image] : []))
  const before = [piped, ...read.map(one => one.text)].filter(text => text.trim() !== '')
  const tasks = texts.map((message): Task => ({ message, images: [] }))
  const [first] = tasks
  if (before.length === 0 && images.length === 0) return tasks
  const message = [...before, first?.message ?? ''].filter(text => text !== '').join('\n\n')
  return [{ message: message === '' ? 'See the attached images.' : message, images }, ...tasks.slice(1)]
}

/** `@` and one word; a sentence that begins with a name is none. */
function isFile(arg: string): boolean {
  return /^@\S+$/.test(arg)
}

function readGiven(name: string, cwd: string): { text: string; image?: Task['images'][number] } {
  const bytes = bytesOf(name, cwd)
  const image = imageOf(bytes)
  const bad = (reason: string) =>
    fail('bad_value', { name: `@${name}`, reason, expected: 'text, or an image (PNG, JPEG, GIF, WebP)' })
  if (image) {
    if (image.format === 'bmp') throw bad('models take no BMP')
    const data = bytes.toString('base64')
    return { text: `(image: ${name})`, image: { media_type: `image/${image.format}`, data } }
  }
  if (bytes.includes(0)) throw bad('it is binary')
  return { text: `<file name="${name.replaceAll('"', '&quot;')}">\n${bytes.toString('utf8')}\n</file>` }
}

function bytesOf(name: string, cwd: string): Buffer {
  try {
    const bytes = readFileSync(resolve(cwd, name))
    if (bytes.length <= MAX_FILE_BYTES) return bytes
  } catch (error) {
    const expected = 'a file to send with the task; a task that begins with @ needs a second word'
    throw fail('bad_value', { name: `@${name}`, reason: messageOf(error), expected }, error)
  }
  const expected = `at most ${MAX_FILE_BYTES} bytes: name the path in the task instead, so that it is read in parts`
  throw fail('bad_value', { name: `@${name}`, reason: 'it is too large', expected })
}

/** Programs often leave a pipe open that nobody writes to: beside a task it is waited for a little, and that is said. */
async function pipedText(world: ProcessWorld, hasTask: boolean, signal: AbortSignal): Promise<string> {
  const { stdin, clock } = world
  if (Reflect.get(stdin, 'isTTY') === true) return ''
  const waited = new AbortController()
  const chunks: Buffer[] = []
  const { promise, resolve: end, reject } = Promise.withResolvers<void>()
  let bytes = 0
  const take = (chunk: Buffer | string): void => {
    waited.abort()
    chunks.push(Buffer.from(chunk))
    bytes += chunk.length
    const expected = `at most ${MAX_STDIN_BYTES} bytes`
    if (bytes > MAX_STDIN_BYTES)
      reject(fail('bad_value', { name: 'stdin', reason: 'it is too much', expected }))
  }
  stdin.on('data', take).on('end', end).on('error', end)
  signal.addEventListener('abort', () => end(), { once: true })
  if (hasTask) {
    clock.sleep(STDIN_WAIT_MS, waited.signal).then(
      () => {
        world.stderr.write(
          `nothing came on stdin in ${STDIN_WAIT_MS / 1000} s; going on without it (</dev/null says that none comes)\n`,
        )
        end()
      },
      () => {}, // something came, and now its end is waited for
    )
  }
  try {
    await promise
  } finally {
    waited.abort()
    stdin.off('data', take).off('end', end).off('error', end)
    stdin.pause()
    // An open pipe must not keep the command from ending.
    const unref: unknown = Reflect.get(stdin, 'unref')
    if (typeof unref === 'function') Reflect.apply(unref, stdin, [])
  }
  return Buffer.concat(chunks).toString('utf8')
}
