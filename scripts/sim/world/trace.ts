/** What happened, as one number that any difference changes, and as lines where somebody wants to read them. */
export interface Trace {
  event(atMs: number, name: string): void
  /** Something worth a line; `data` is part of the number. */
  note(text: string): void
  /** Of everything so far; equal runs have equal ones. */
  readonly hash: string
  readonly events: number
}

/** `print` gets each line. */
export function createTrace(print: ((line: string) => void) | null): Trace {
  let low = 0x811c9dc5
  let high = 0x1000193
  let events = 0
  let now = 0

  function mix(text: string): void {
    for (let at = 0; at < text.length; at++) {
      low = Math.imul(low ^ text.charCodeAt(at), 0x01000193)
      high = Math.imul(high ^ low, 0x85ebca6b)
    }
  }

  return {
    event(atMs, name) {
      events++
      now = atMs
      low ^= Math.floor(atMs * 1000)
      mix(name)
      print?.(`${events} ${atMs.toFixed(3)} ${name}`)
    },
    note(text) {
      mix(text)
      print?.(`${events} ${now.toFixed(3)}   ${text}`)
    },
    get hash() {
      return [high, low].map(word => (word >>> 0).toString(16).padStart(8, '0')).join('')
    },
    get events() {
      return events
    },
  }
}
