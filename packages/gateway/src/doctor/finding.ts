/** One thing that `beige doctor` looked at. */

/** `missing`: nothing works without it; `warning`: something is worse than it could be. */
export type FindingState = 'ok' | 'warning' | 'missing'

export type Finding = {
  /** What was looked at: `node`, `docker`, `sandbox`, `config`… */
  topic: string
  state: FindingState
  text: string
  /** What to do; empty where nothing has to be done. */
  advice: string
}

export const ok = (topic: string, text: string): Finding => ({ topic, state: 'ok', text, advice: '' })
export const warning = (topic: string, text: string, advice: string): Finding => ({
  topic,
  state: 'warning',
  text,
  advice,
})
export const missing = (topic: string, text: string, advice: string): Finding => ({
  topic,
  state: 'missing',
  text,
  advice,
})

const MARKS = { ok: '✓', warning: '!', missing: '✗' } as const

export function findingLine(finding: Finding): string {
  const advice = finding.advice === '' ? '' : `. ${finding.advice}`
  return `${MARKS[finding.state]} ${finding.topic.padEnd(11)} ${finding.text.replace(/[.\s]+$/, '')}${advice}`
}
