/** Calls whose start is in the log and whose end is not: their gateway was killed, and what became of them is unknown. */
import { readFileSync } from 'node:fs'
import { type AuditBody, auditBody } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { auditFiles } from './verify.ts'

const checkBody = compile(auditBody)
const FILES_LOOKED_AT = 2 // a life that filled more has ended its early calls

/** The `end` lines that are missing, to be written by the next start. */
export function unfinishedCalls(current: string): AuditBody[] {
  const open = new Map<string, Extract<AuditBody, { phase: 'start' }>>()
  for (const file of auditFiles(current).slice(-FILES_LOOKED_AT))
    for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
      const record: unknown = JSON.parse(line)
      if (!checkBody.check(record)) continue
      if (record.phase === 'start') open.set(record.id, record)
      else if (record.phase === 'end') open.delete(record.id)
      else if (record.event === 'gateway.start') open.clear() // that start has told of those before it
    }
  return [...open.values()].flatMap(start => {
    // Its place in the chain was its own; the new line gets another.
    const story = Object.entries(start).filter(([name]) => !['seq', 'prev', 'ts'].includes(name))
    const end = { ...Object.fromEntries(story), phase: 'end', by: 'policy', outcome: 'unknown' }
    return checkBody.check(end) ? [end] : []
  })
}
