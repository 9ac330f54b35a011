/** What the checks of a configuration need to know of the machine; handed in, so that tests own it. */

import { execFile } from 'node:child_process'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type PluginManifest, pluginManifest } from '@beige/plugin-sdk'
import { messageOf } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { unreadable } from '../system-refusal.ts'
import type { Environment } from './expand.ts'

export type Read<T> = { ok: true; value: T } | { ok: false; reason: string }

export type KnownModel = { id: string; isPriced: boolean }

export interface Surroundings {
  readonly env: Environment
  readonly userHome: string
  /** Folder of everything that is ours; agents may not have it. */
  readonly beigeHome: string
  /** With links resolved as far as the path exists. */
  canonical(path: string): string
  readManifest(folder: string): Read<PluginManifest>
  /** A text that must be its owner's alone. */
  readSecretFile(path: string): Read<string>
  runSecretCommand(argv: readonly string[]): Promise<Read<string>>
  fileExists(path: string): boolean
  /** Providers whose address and wire are known by name. */
  isKnownProvider(name: string): boolean
  /** The models of a known provider; `isPriced` where what they cost is known. */
  models(provider: string): Promise<readonly KnownModel[]>
}

const MAX_MANIFEST_BYTES = 262_144
const MAX_SECRET_BYTES = 65_536
const SECRET_COMMAND_TIMEOUT_MS = 10_000

const manifestValidator = compile(pluginManifest)

/** The machine itself. `models` is what the models package knows by name. */
export function realSurroundings(parts: {
  env: Environment
  beigeHome: string
  models: Pick<Surroundings, 'isKnownProvider' | 'models'>
}): Surroundings {
  return {
    env: parts.env,
    userHome: parts.env.HOME ?? homedir(),
    beigeHome: parts.beigeHome,
    canonical,
    readManifest,
    readSecretFile,
    runSecretCommand,
    fileExists: path => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
    isKnownProvider: parts.models.isKnownProvider,
    models: parts.models.models,
  }
}

/** Why a file with secrets in it is not private enough, or null. */
export function privacyProblem(path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return null
  const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
  if ((stat.mode & 0o077) !== 0) return `has mode ${mode}, others may read it; run: chmod 600 ${path}`
  const uid = process.getuid?.() ?? stat.uid
  if (stat.uid !== uid && stat.uid !== 0) return `belongs to uid ${stat.uid}, not to ${uid}`
  return null
}

function canonical(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(canonical(parent), basename(path))
  }
}

function readManifest(folder: string): Read<PluginManifest> {
  const path = join(folder, 'plugin.json')
  const text = readBounded(path, MAX_MANIFEST_BYTES)
  if (!text.ok) return text
  let value: unknown
  try {
    value = JSON.parse(text.value)
  } catch (error) {
    return { ok: false, reason: `${path} is not JSON: ${messageOf(error)}` }
  }
  const checked = manifestValidator.validate(value)
  if (!checked.ok) {
    const errors = checked.errors.map(error => `${error.path.slice(1).replaceAll('/', '.')} ${error.message}`)
    return { ok: false, reason: `${path}: ${errors.join('; ')}` }
  }
  const tools = checked.value.tools ?? []
  if ((checked.value.provides.tools ?? false) !== tools.length > 0)
    return { ok: false, reason: `${path}: provides.tools and tools do not agree` }
  return { ok: true, value: checked.value }
}

function readSecretFile(path: string): Read<string> {
  const problem = privacyProblem(path)
  if (problem) return { ok: false, reason: `${path} ${problem}` }
  const text = readBounded(path, MAX_SECRET_BYTES)
  return text.ok ? { ok: true, value: text.value.replace(/\r?\n$/, '') } : text
}

function runSecretCommand(argv: readonly string[]): Promise<Read<string>> {
  const [program = '', ...args] = argv
  const options = {
    timeout: SECRET_COMMAND_TIMEOUT_MS,
    maxBuffer: MAX_SECRET_BYTES,
    encoding: 'utf8' as const,
  }
  return new Promise(resolve => {
    execFile(program, args, options, (error, stdout) => {
      // What the command wrote may be the secret, so only its program and exit are said.
      if (error)
        resolve({ ok: false, reason: `${program} failed (${error.code ?? error.signal ?? 'timed out'})` })
      else resolve({ ok: true, value: stdout.replace(/\r?\n$/, '') })
    })
  })
}

function readBounded(path: string, maxBytes: number): Read<string> {
  try {
    const stat = statSync(path)
    if (!stat.isFile()) return { ok: false, reason: `${path} is no regular file` }
    if (stat.size > maxBytes) return { ok: false, reason: `${path} has more than ${maxBytes} bytes` }
    return { ok: true, value: readFileSync(path, 'utf8') }
  } catch (error) {
    return { ok: false, reason: unreadable(error, path) }
  }
}
