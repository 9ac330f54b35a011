/** `beige audit verify`. */
import { existsSync } from 'node:fs'
import { verdictText, verifyAudit } from '../audit/verify.ts'
import { fail } from '../errors.ts'
import { EXIT, homeOf, type World } from './world.ts'

export function auditVerify(world: World, options: { anchor?: string; json?: boolean }): number {
  const layout = homeOf(world)
  const match = options.anchor === undefined ? null : /^(\d{1,15}):([0-9a-f]{32})$/.exec(options.anchor)
  if (options.anchor !== undefined && match === null)
    throw fail('usage', { reason: 'an anchor is SEQ:HASH, as `audit verify` prints the head' })
  if (!existsSync(layout.logs)) throw fail('usage', { reason: `there is no audit log below ${layout.home}` })
  const anchor = match === null ? undefined : { seq: Number(match[1]), hash: match[2] ?? '' }
  const verdict = verifyAudit(layout.audit, anchor)
  const said = options.json ? JSON.stringify(verdict) : verdictText(verdict)
  if (verdict.ok || options.json) world.stdout.write(`${said}\n`)
  else world.stderr.write(`${said}\n`)
  return verdict.ok ? EXIT.done : EXIT.failed
}
