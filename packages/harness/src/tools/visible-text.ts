/** Control characters as pictures: what a terminal would act on is shown, not sent and not hidden. Pure. */

const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
const BREAKS = /[\t\n]/g

/** `␛` for an escape. Tab and newline stay, unless the text is one line `whole`. */
export function visibleText(text: string, extent: 'lines' | 'whole' = 'lines'): string {
  const visible = text.replace(CONTROLS, pictureOf)
  return extent === 'lines' ? visible : visible.replace(BREAKS, pictureOf)
}

export function countControls(text: string): number {
  return text.match(CONTROLS)?.length ?? 0
}

function pictureOf(char: string): string {
  const code = char.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\u2426'
}
