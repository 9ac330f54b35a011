/**
 * Takes out of a stream of text what only a terminal understands: ANSI and OSC sequences and control characters, also
 * when a sequence is split between two pieces. Tab, newline and carriage return stay. Pure but for its own state.
 */

const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g // all but tab, newline and carriage return

type State =
  | 'text'
  | 'escape' // behind ESC
  | 'intermediate' // behind ESC and one of the bytes that want another
  | 'csi' // parameters of a control sequence
  | 'string' // OSC, DCS, SOS, PM, APC: up to BEL or ST
  | 'string_escape' // an ESC in a string, maybe the first half of ST

export interface ControlFilter {
  push(text: string): string
}

export function createControlFilter(): ControlFilter {
  let state: State = 'text'

  const next = (code: number, char: string): string => {
    switch (state) {
      case 'text':
        return inText(code, char)
      case 'escape':
        return afterEscape(code, char)
      case 'intermediate':
        if (code < 0x20 || code > 0x2f) state = 'text'
        return code < 0x20 ? inText(code, char) : ''
      case 'csi':
        if (code >= 0x20 && code <= 0x3f) return ''
        state = 'text'
        return code >= 0x40 && code <= 0x7e ? '' : inText(code, char)
      case 'string':
        if (code === 0x1b) state = 'string_escape'
        // A terminal would swallow all that follows an unfinished string; here a line's end also ends it.
        else if (code === 0x07 || code === 0x9c || code === 0x0a) state = 'text'
        return code === 0x0a ? char : ''
      case 'string_escape':
        state = 'text'
        return char === '\\' ? '' : afterEscape(code, char)
    }
  }

  const inText = (code: number, char: string): string => {
    if (code === 0x1b) state = 'escape'
    else if (code === 0x9b) state = 'csi'
    else if (code === 0x90 || code === 0x98 || code === 0x9d || code === 0x9e || code === 0x9f)
      state = 'string'
    else if (code === 0x09 || code === 0x0a || code === 0x0d || (code >= 0x20 && code < 0x7f) || code > 0x9f)
      return char
    return ''
  }

  const afterEscape = (code: number, char: string): string => {
    state = 'text'
    if (char === '[') state = 'csi'
    else if (char === ']' || char === 'P' || char === 'X' || char === '^' || char === '_') state = 'string'
    else if (code >= 0x20 && code <= 0x2f) state = 'intermediate'
    else if (code < 0x20 || code > 0x7e) return inText(code, char)
    return ''
  }

  return {
    push(text) {
      let kept = ''
      for (let at = 0; at < text.length; ) {
        if (state !== 'text') {
          kept += next(text.charCodeAt(at), text.charAt(at))
          at++
          continue
        }
        // Most text has no control character and passes in one piece.
        CONTROL.lastIndex = at
        const found = CONTROL.exec(text)?.index ?? text.length
        kept += text.slice(at, found)
        if (found < text.length) kept += inText(text.charCodeAt(found), text.charAt(found))
        at = found + 1
      }
      return kept
    },
  }
}
