/** Lines of a byte stream, decoded as UTF-8 line by line so that a chunk may end inside a character. */

/** A line longer than `maxBytes` comes out as null, its bytes are not kept. Ends with the stream or the signal. */
export async function* lines(
  stream: AsyncIterable<string | Buffer> & { destroy?(): void },
  maxBytes: number,
  signal: AbortSignal,
): AsyncGenerator<string | null> {
  let parts: Buffer[] = []
  let bytes = 0
  const stop = () => stream.destroy?.()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    for await (const chunk of stream) {
      let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        const line = taken(rest.subarray(0, at))
        rest = rest.subarray(at + 1)
        if (line !== '') yield line
      }
      bytes += rest.length
      if (bytes <= maxBytes) parts.push(rest)
      else parts = []
    }
    const last = taken(Buffer.alloc(0))
    if (last !== '') yield last
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }

  function taken(end: Buffer): string | null {
    const whole =
      bytes + end.length <= maxBytes
        ? Buffer.concat([...parts, end])
            .toString('utf8')
            .trim()
        : null
    parts = []
    bytes = 0
    return whole
  }
}
