/**
 * Names as arguments of a command. Text goes as it is; a name that is not UTF-8 fits no JSON, so such a chunk goes through a
 * script that decodes octal escapes: data for `printf %b`, never text of the script (H32).
 */
import type { Command } from '@beige/sandbox'
import { type ByteText, textOfBytes } from './byte-text.ts'

const MAX_CHUNK_BYTES = 96 * 1024
const MAX_CHUNK_NAMES = 1000 // the script's loop takes time with the square of it

export type NameChunk<T> = { items: readonly T[]; arguments: readonly string[]; isEscaped: boolean }

/** In order; a chunk is of one kind of names. Each begins with `./`, so none is an option (H33). */
export function* nameChunks<T>(items: readonly T[], nameOf: (item: T) => ByteText): Generator<NameChunk<T>> {
  let chunk: { items: T[]; arguments: string[]; isEscaped: boolean; bytes: number } | null = null
  for (const item of items) {
    const name = nameOf(item)
    const text = textOfBytes(name)
    const argument = `./${text ?? escaped(name)}`
    const bytes = Buffer.byteLength(argument) + 16
    const isEscaped = text === null
    const isFull = chunk && (chunk.bytes + bytes > MAX_CHUNK_BYTES || chunk.items.length >= MAX_CHUNK_NAMES)
    if (chunk && (isFull || chunk.isEscaped !== isEscaped)) {
      yield chunk
      chunk = null
    }
    chunk ??= { items: [], arguments: [], isEscaped, bytes: 0 }
    chunk.items.push(item)
    chunk.arguments.push(argument)
    chunk.bytes += bytes
  }
  if (chunk) yield chunk
}

// The dot keeps line breaks at the end of a name, which `$()` would take away.
const DECODE = `
names=$1; shift
first=$(($# - names)); i=0
for a; do
  if [ "$i" -ge "$first" ]; then a=$(printf '%b.' "$a"); a=\${a%.}; fi
  shift; set -- "$@" "$a"; i=$((i + 1))
done
`

/** A script whose arguments are `fixed` and then the names of the chunk. */
export function scriptWith(
  script: string,
  fixed: readonly string[],
  chunk: Pick<NameChunk<unknown>, 'arguments' | 'isEscaped'>,
): Pick<Command, 'command' | 'args'> {
  const names = chunk.arguments
  const count = chunk.isEscaped ? [`${names.length}`] : []
  const text = chunk.isEscaped ? DECODE + script : script
  return { command: 'sh', args: ['-c', text, 'sh', ...count, ...fixed, ...names] }
}

function escaped(name: ByteText): string {
  return name.replace(/[^A-Za-z0-9_./-]/g, char => `\\0${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
}
