/** Splits what a process prints into lines for the log; a line has a bound, what is beyond is counted. Pure. */
export const MAX_LINE_CHARS = 2000

export function createLineReader(take: (line: string) => void): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder()
  let held = ''
  let dropped = 0
  const flush = () => {
    if (held !== '' || dropped > 0) take(dropped > 0 ? `${held}… [${dropped} more characters]` : held)
    held = ''
    dropped = 0
  }
  return chunk => {
    const lines = decoder.decode(chunk, { stream: true }).split('\n')
    for (const [index, line] of lines.entries()) {
      if (index > 0) flush()
      const room = MAX_LINE_CHARS - held.length
      held += line.slice(0, room)
      dropped += Math.max(0, line.length - room)
    }
  }
}
