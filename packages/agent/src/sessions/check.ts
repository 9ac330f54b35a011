/** `agent sessions check` and `repair`: what is damaged in a log, where, what is lost by it; and the log without it. */
import { plural, size, visible } from '@beige/client'
import { isError, type SessionId } from '@beige/protocol'
import { checkFolder, type FoundProblem, type LogReport, nodeDisk } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { ProcessWorld } from '../process-world.ts'
import { type Found, folderOf, type PlaceOptions, withPlace, withSession } from './place.ts'

const PAGE = 200
const CLOSED = ['no_key', 'wrong_seal', 'not_sealed'] as const
const DAMAGED = 1

/** `closed`: why it can not be read with the keys that are here. */
type Checked = { id: SessionId; report: LogReport | null; closed?: string }

/** Exit 1 when a log has damage in it. Without a name all sessions of the place are looked at. */
export async function checkCommand(
  name: string | undefined,
  raw: PlaceOptions,
  world: ProcessWorld,
): Promise<number> {
  const checked =
    name === undefined ? await checkAll(raw, world) : [await withSession(name, raw, world, checkOne)]
  if (raw.json === true) {
    world.stdout.write(`${JSON.stringify({ sessions: checked.map(asJson) })}\n`)
  } else {
    const [only] = checked
    const text = checked.length === 1 && only && name !== undefined ? linesOf(only) : linesOfAll(checked)
    world.stdout.write(`${visible(text.join('\n'))}\n`)
  }
  return checked.some(isDamaged) ? DAMAGED : 0
}

/** Exit 0 when the log is whole now. */
export async function repairCommand(name: string, raw: PlaceOptions, world: ProcessWorld): Promise<number> {
  return withSession(name, raw, world, async found => {
    const before = await checkOne(found)
    if (!isDamaged(before)) {
      tell(world, raw, { id: found.id, repaired: false, problems: [] }, `${found.id}: nothing to repair`)
      return 0
    }
    const log = await found.store.open(found.id, {
      rewrite: 'repaired',
      waiting: ({ atMostMs }) =>
        world.stderr.write(`waiting ${Math.ceil(atMostMs / 1000)} s to see that its last owner is gone\n`),
    })
    await log.close()
    const after = await checkOne(found)
    const left = (before.report?.problems ?? []).filter(one => !one.isLeftOut)
    const text = [
      `${found.id}: written anew without ${plural(left.length, 'damaged part')}`,
      ...left.map(one => `  ${lineOf(one)}`),
      `Copies of the bytes are in ${folderOf(found)}: ${after.report?.quarantines.join(', ') || 'none'}`,
    ].join('\n')
    tell(world, raw, { id: found.id, repaired: true, problems: left.map(problemJson) }, text)
    return isDamaged(after) ? DAMAGED : 0
  })
}

async function checkOne(found: Found): Promise<Checked> {
  const report = await checkFolder(nodeDisk, folderOf(found), found.id, found.sealing ?? undefined)
  if (!report) throw fail('no_log', { path: folderOf(found) })
  return { id: found.id, report }
}

async function checkAll(raw: PlaceOptions, world: ProcessWorld): Promise<Checked[]> {
  return withPlace(raw, world, async place => {
    const checked: Checked[] = []
    for (let offset = 0; ; offset += PAGE) {
      const { rows } = await place.store.list({ limit: PAGE, offset })
      for (const { id } of rows) checked.push(await checkIfThere({ ...place, id }))
      if (rows.length < PAGE) return checked
    }
  })
}

/** One that was removed meanwhile has nothing to say. */
async function checkIfThere(found: Found): Promise<Checked> {
  try {
    return await checkOne(found)
  } catch (error) {
    if (isError(error, 'no_log')) return { id: found.id, report: null }
    if (isError(error, ...CLOSED)) return { id: found.id, report: null, closed: error.message }
    throw error
  }
}

const inLog = ({ report }: Checked) => (report?.problems ?? []).filter(one => !one.isLeftOut)
const isDamaged = (checked: Checked) => checked.closed !== undefined || inLog(checked).length > 0

function linesOfAll(checked: readonly Checked[]): string[] {
  const damaged = checked.filter(isDamaged)
  const whole = `${checked.length - damaged.length} of ${plural(checked.length, 'session')} whole`
  return [...damaged.flatMap(one => [...linesOf(one), '']), whole]
}

function linesOf(checked: Checked): string[] {
  const { id, report, closed } = checked
  if (!report) return [closed ?? `${id}: gone`]
  const { records, segments, bytes, problems } = report
  const extent = `${plural(records.length, 'record')} in ${plural(segments, 'segment')}, ${size(bytes)}`
  if (problems.length === 0) return [`${id}: whole; ${extent}`]
  const now = inLog(checked)
  const state =
    now.length > 0 ? `${plural(now.length, 'damaged part')}; ${extent} can be read` : `repaired; ${extent}`
  const advice =
    now.length > 0 ? [`It opens as it is. To write it without them: agent sessions repair ${id}`] : []
  return [`${id}: ${state}`, ...problems.map(one => `  ${lineOf(one)}`), ...advice]
}

function lineOf(one: FoundProblem): string {
  const where = `${one.segment} at byte ${one.offset}`
  const extent = one.length === 0 ? '' : `, ${plural(one.length, 'byte')}`
  const told = one.isLeftOut ? '; left out' : one.isTold ? '; known' : ''
  return `${where}${extent}: ${one.reason}; ${lostBy(one)}${told}`
}

function lostBy({ seqs, reason }: FoundProblem): string {
  const [first] = seqs
  if (first !== undefined) {
    const last = seqs.at(-1) ?? first
    return first === last ? `record ${first} is lost` : `records ${first} to ${last} are lost`
  }
  return reason === 'torn tail' || reason === 'torn header'
    ? 'nothing acknowledged is lost, unless the file was cut'
    : 'no record is missing'
}

function asJson({ id, report, closed }: Checked): Record<string, unknown> {
  if (!report) return closed === undefined ? { id, state: 'gone' } : { id, state: 'closed', reason: closed }
  const problems = report.problems.map(problemJson)
  const isWhole = !isDamaged({ id, report })
  return {
    id,
    state: !isWhole ? 'damaged' : problems.length > 0 ? 'repaired' : 'whole',
    records: report.records.length,
    segments: report.segments,
    bytes: report.bytes,
    problems,
    quarantines: report.quarantines,
  }
}

function problemJson(one: FoundProblem): Record<string, unknown> {
  const { segment, offset, length, reason, seqs, isTold, isLeftOut } = one
  return { segment, offset, length, reason, lost_seqs: seqs, told: isTold, left_out: isLeftOut }
}

function tell({ stdout }: ProcessWorld, { json }: PlaceOptions, value: object, text: string): void {
  stdout.write(`${json === true ? JSON.stringify(value) : visible(text)}\n`)
}
