/**
 * Text that streams in, broken between words at the edge of the terminal. Holds back the word that may go on and the
 * line ends that may be the last ones, so that what is written is never taken back.
 */
import { columns } from './visible.ts'

export type FlowParts = {
  write(text: string): void
  /** Columns of the terminal; asked at each word. */
  width(): number
  /** Columns before each line. */
  indent: number
  /** Stands before the first line instead of the indent, and takes as many columns. */
  lead: string
}

export interface Flow {
  /** Text without control bytes. */
  push(text: string): void
  /** True when something was written since the last end. */
  readonly open: boolean
  /** Writes what was held back; the next text begins with the lead again. */
  end(): void
}

export function createFlow({ write, width, indent, lead }: FlowParts): Flow {
  let open = false
  let column = 0
  let lines = 0
  let gap = ''
  let word = ''

  function flush(): void {
    if (word === '') return
    const wide = columns(word)
    if (!open) begin()
    else if (lines > 0) lineEnds(lines)
    else if (column > indent && column + gap.length + wide > width()) lineEnds(1)
    write(gap + word)
    column += gap.length + wide
    word = ''
    gap = ''
  }
  function begin(): void {
    write(lead)
    open = true
    column = indent
    lines = 0
  }
  function lineEnds(count: number): void {
    // Spaces after a line end belong to the next line, e.g. of a list or of code; those at a break do not.
    if (lines === 0) gap = ''
    write('\n'.repeat(count) + ' '.repeat(indent))
    column = indent
    lines = 0
  }

  return {
    push: text => {
      for (const [part] of text.matchAll(/\n|[ \t]+|[^\n \t]+/g)) {
        if (part === '\n') {
          flush()
          gap = ''
          if (open) lines++
        } else if (part.trim() === '') {
          flush()
          gap += part.replaceAll('\t', '    ')
        } else word += part
      }
    },
    get open() {
      return open
    },
    end: () => {
      flush()
      if (open) write('\n')
      open = false
      column = 0
      lines = 0
      gap = ''
    },
  }
}

/** A whole text, broken in the same way. */
export function flowed(text: string, width: number): string {
  let out = ''
  const flow = createFlow({ write: part => (out += part), width: () => width, indent: 0, lead: '' })
  flow.push(text)
  flow.end()
  return out.replace(/\n$/, '')
}
