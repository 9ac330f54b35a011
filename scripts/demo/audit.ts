/** What the audit log of the demo says: how many records and calls, and a few of its lines. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export type AuditView = { records: number; launcherCalls: number; newest: readonly string[] }

export async function auditView(home: string): Promise<AuditView> {
  const text = await readFile(join(home, 'logs/audit.jsonl'), 'utf8')
  const lines = text.split('\n').filter(line => line !== '')
  const ends = lines.map(parsed).filter(one => one.phase === 'end')
  const shown = [
    ...ends.filter(one => one.type === 'core_tool').slice(-1),
    ...ends.filter(one => one.type === 'tool').slice(-2),
  ].sort((one, other) => Number(one.seq) - Number(other.seq)) // as they lie in the log
  return {
    records: lines.length,
    launcherCalls: ends.filter(one => one.type === 'tool').length,
    newest: shown.map(
      one => `${one.seq}  ${one.decision}  ${one.tool}  ${JSON.stringify(one.args)}  by ${one.by}`,
    ),
  }
}

function parsed(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
