/** A session as one static page: no script, nothing loaded, all text escaped. */
import { plural, tokens } from '@beige/client'
import type { SessionId, SessionRecord } from '@beige/protocol'
import { foldSession, readTree, rowOf, type SessionRow, type SessionState } from '@beige/sessions'
import { element, escaped } from './escape.ts'
import { STYLE } from './style.ts'
import { timeText, treeHtml } from './walk.ts'

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

export function sessionHtml(id: SessionId, records: readonly SessionRecord[], exportedAt: number): string {
  const state = foldSession(records)
  const row = rowOf(id, records)
  const title = row.title === '' ? id : row.title
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
${element('h1', {}, escaped(title))}
${factsHtml(row, state)}
</header>
<main>
${treeHtml(readTree(records), state)}
</main>
<footer>${escaped(`Exported ${timeText(exportedAt)} UTC. All times are UTC.`)}</footer>
</body>
</html>
`
}

function factsHtml(row: SessionRow, state: SessionState): string {
  const { usage, session, damage } = state
  const read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
  const facts: [string, string][] = [
    ['Session', row.id],
    ['Directory', row.cwd],
    ['Model', row.model],
    ['Time', `${timeText(row.createdAt)} to ${timeText(row.updatedAt)}`],
    ['Used', `${tokens(read)} tokens in, ${tokens(usage.output_tokens)} out, $${usage.cost_usd.toFixed(4)}`],
    ['Forked from', session.parent ?? ''],
    [
      'Damage',
      damage.length === 0
        ? ''
        : `${plural(damage.length, 'part')} of the log could not be read, marked below`,
    ],
  ]
  const shown = facts.filter(([, value]) => value !== '')
  return element(
    'dl',
    { class: 'facts' },
    ...shown.flatMap(([name, value]) => [
      element('dt', {}, escaped(name)),
      element('dd', {}, escaped(value)),
    ]),
  )
}
