/** `beige doctor`: what is missing on this machine and in this home, and how to get it. Changes nothing. */
import { driverOptionsFrom } from '@beige/sandbox'
import { type Finding, findingLine } from '../doctor/finding.ts'
import { homeFindings } from '../doctor/home.ts'
import { engineFindings, execdFinding, nodeFinding, sandboxFindings } from '../doctor/machine.ts'
import { configFileOf, EXIT, homeOf, type World } from './world.ts'

const LIMIT_MS = 120_000

export async function doctor(world: World, options: { config?: string; json?: boolean }): Promise<number> {
  const signal = AbortSignal.timeout(LIMIT_MS)
  const drivers = driverOptionsFrom(world.env)
  const found: Finding[] = []
  const tell = (findings: readonly Finding[]) => {
    found.push(...findings)
    if (!options.json) for (const finding of findings) world.stdout.write(`${findingLine(finding)}\n`)
  }
  tell([nodeFinding(process.version), execdFinding(drivers)])
  const engines = await engineFindings(drivers, signal)
  tell(engines)
  const canOpen = found.every(finding => finding.state !== 'missing')
  if (canOpen) tell(await sandboxFindings(drivers, signal))
  tell(await homeFindings(homeOf(world), configFileOf(world, options.config), world.env))
  const bad = found.filter(finding => finding.state === 'missing').length
  if (options.json) world.stdout.write(`${JSON.stringify({ ok: bad === 0, findings: found })}\n`)
  return bad === 0 ? EXIT.done : EXIT.failed
}
