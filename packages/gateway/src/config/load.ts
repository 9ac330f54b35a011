/**
 * Reads a configuration whole: parse with positions, expand, check against the schema, check across sections, resolve.
 * Whatever is wrong is found in one run; with one mistake nothing is started.
 */
import { readFileSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { configSchema, type Place } from '@beige/protocol'
import { unreadable } from '../system-refusal.ts'
import { checkAgents } from './check-agents.ts'
import { checkGateway } from './check-gateway.ts'
import { checkPlugins } from './check-plugins.ts'
import { checkProviders } from './check-providers.ts'
import { expandDocument } from './expand.ts'
import { mendDocument } from './mend.ts'
import { type Located, type Problem, placeText, problemLines } from './problem.ts'
import { createReport } from './report.ts'
import type { GatewayConfig } from './resolved.ts'
import { DUPLICATE, MAX_CONFIG_BYTES, readSource, type Source } from './source.ts'
import { privacyProblem, type Surroundings } from './surroundings.ts'
import { validateDocument } from './validate.ts'

export type Loaded =
  | { ok: true; config: GatewayConfig }
  /** One line a mistake, in the order of the file. */
  | { ok: false; lines: readonly string[]; problems: readonly Located[] }

/** Reads and checks the file; a file that cannot be read is a mistake like any other. */
export async function loadConfig(file: string, around: Surroundings): Promise<Loaded> {
  const problem = privacyProblem(file)
  let text: string
  try {
    const stat = statSync(file)
    // One that never ends, such as a pipe, would hold the command for ever.
    if (!stat.isFile()) return unread(file, `${file} is no regular file`)
    if (stat.size > MAX_CONFIG_BYTES) return unread(file, `has more than ${MAX_CONFIG_BYTES} bytes`)
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return unread(file, unreadable(error, file))
  }
  const loaded = await loadText(text, file, around)
  if (problem === null) return loaded
  const wide: Located = { position: { line: 1, column: 1 }, path: '', text: `the file ${problem}` }
  const problems = loaded.ok ? [wide] : [wide, ...loaded.problems]
  return { ok: false, problems, lines: problemLines(basename(file), problems) }
}

export async function loadText(text: string, file: string, around: Surroundings): Promise<Loaded> {
  const source = readSource(text)
  const problems: Problem[] = [...source.problems]
  const finish = (): Loaded => {
    const located = problems.map(problem => locate(problem, source))
    return { ok: false, problems: located, lines: problemLines(basename(file), located) }
  }
  if (source.value === undefined) return finish()

  const expanded = expandDocument(source.value, configSchema, around.env)
  const checked = validateDocument(expanded.value)
  problems.push(...expanded.problems, ...checked.problems)
  const document = checked.document ?? mendDocument(expanded.value)
  if (document === null) return finish()

  const report = createReport(dirname(file), expanded.value, around)
  const providers = await checkProviders(document, around, report)
  const plugins = checkPlugins(document, around, report)
  const agents = await checkAgents(document, plugins, around, report)
  const llm = { fallback: document.llm.fallback ?? {}, budget: document.llm.budget ?? null }
  const gateway = checkGateway(document, around, report)
  problems.push(...report.problems)
  if (problems.length > 0) return finish()
  const { secrets } = report
  const { secretVariables } = expanded
  return {
    ok: true,
    config: { file, providers, llm, plugins: plugins.enabled, agents, gateway, secrets, secretVariables },
  }
}

function locate(problem: Problem, source: Source): Located {
  const place: Place = problem.place.at(-1) === DUPLICATE ? problem.place.slice(0, -1) : problem.place
  return {
    position: source.positionOf(problem.place, problem.at),
    path: placeText(place),
    text: problem.text,
    ...(problem.suggestion === undefined ? {} : { suggestion: problem.suggestion }),
  }
}

function unread(file: string, text: string): Loaded {
  const problems: Located[] = [{ position: { line: 1, column: 1 }, path: '', text }]
  return { ok: false, problems, lines: problemLines(basename(file), problems) }
}
