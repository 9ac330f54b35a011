/** `0 lost, 0 duplicated, …`, the same for simulated and for real processes. */
import { VIOLATIONS, type Violation } from './check-session.ts'

export function countsText(violations: readonly Violation[]): string {
  return VIOLATIONS.map(kind => {
    const count = violations.filter(one => one.kind === kind).length
    return `${count} ${kind === 'repeated' ? 'repeated effects' : kind}`
  }).join(', ')
}
