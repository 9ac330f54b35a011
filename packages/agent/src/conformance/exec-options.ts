/** Flags of `agent conformance exec` with their variables: flag before variable. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf } from '@beige/protocol'
import type { ConformanceOptions, ExecEndpoint } from '@beige/sandbox'
import { fail } from '../errors.ts'
import type { ProcessWorld } from '../process-world.ts'

/** As commander gives them. */
export type RawConformanceOptions = {
  url?: string
  header?: string[]
  json?: boolean
  only?: string[]
  programs?: string
  folder?: string
  notifyListen?: string
  notifyUrl?: string
  tokenFile?: string
  patience?: string
}

const URL_VARIABLE = 'AGENT_CONFORMANCE_EXEC_URL'
const HEADER_VARIABLE = 'AGENT_CONFORMANCE_EXEC_HEADER'
const MAX_PATIENCE = 100

export async function conformanceOptions(
  raw: RawConformanceOptions,
  { env, cwd }: Pick<ProcessWorld, 'env' | 'cwd'>,
): Promise<ConformanceOptions> {
  const url = raw.url ?? env[URL_VARIABLE]
  if (!url) throw bad('--url', 'it is missing', `the endpoint's URL, or unix:/path (${URL_VARIABLE})`)
  const fromVariable = (env[HEADER_VARIABLE] ?? '').split('\n').filter(line => line.trim() !== '')
  const notify = notifyPlace(raw)
  return {
    endpoint: endpointOf(url, raw.header ?? fromVariable, raw.header ? '--header' : HEADER_VARIABLE),
    ...(raw.only ? { only: raw.only } : {}),
    ...(raw.programs ? { programs: await programFile(resolve(cwd, raw.programs)) } : {}),
    ...(raw.folder ? { folder: raw.folder } : {}),
    ...(notify ? { notify } : {}),
    ...(raw.tokenFile ? { tokenFile: raw.tokenFile } : {}),
    ...(raw.patience ? { patience: patience(raw.patience) } : {}),
  }
}

function endpointOf(url: string, lines: readonly string[], name: string): ExecEndpoint {
  const headers = Object.fromEntries(lines.map(line => headerOf(line, name)))
  if (!url.startsWith('unix:')) {
    if (URL.canParse(url) && /^https?:/.test(url)) return { kind: 'url', url, headers }
    throw bad('--url', `${JSON.stringify(url)} is none`, 'an http or https URL, or unix:/path')
  }
  if (lines.length > 0) throw bad(name, 'a Unix socket takes no credentials', 'no header')
  return { kind: 'unix', socketPath: url.slice('unix:'.length), basePath: '' }
}

function headerOf(line: string, name: string): [string, string] {
  const colon = line.indexOf(':')
  // Not the line itself: it may be a token.
  if (colon <= 0) throw bad(name, 'it has no colon', 'Name: value')
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
}

function notifyPlace({ notifyListen, notifyUrl }: RawConformanceOptions): ConformanceOptions['notify'] {
  if (notifyUrl === 'none') return 'unreachable'
  if (notifyListen === undefined && notifyUrl === undefined) return undefined
  const text = notifyListen ?? '127.0.0.1:0'
  const at = text.lastIndexOf(':')
  const [host, port] = [text.slice(0, at).replace(/^\[|\]$/g, ''), Number(text.slice(at + 1))]
  const isPort = Number.isInteger(port) && port >= 0 && port <= 65_535
  const isUnix = text.startsWith('unix:')
  if (!isUnix && (at < 1 || !isPort)) {
    throw bad('--notify-listen', `${JSON.stringify(text)} is none`, 'host:port or unix:/path')
  }
  const listen = isUnix ? { socketPath: text.slice('unix:'.length) } : { host, port }
  if (notifyUrl === undefined)
    throw bad('--notify-url', 'it is missing', 'how the endpoint reaches --notify-listen')
  return { listen, url: notifyUrl }
}

async function programFile(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (error) {
    throw fail(
      'bad_value',
      { name: '--programs', reason: messageOf(error), expected: 'a static busybox for the endpoint' },
      error,
    )
  }
}

function patience(text: string): number {
  const value = Number(text)
  if (value >= 1 && value <= MAX_PATIENCE) return value
  throw bad('--patience', `${JSON.stringify(text)} is none`, `a number from 1 to ${MAX_PATIENCE}`)
}

function bad(name: string, reason: string, expected: string) {
  return fail('bad_value', { name, reason, expected })
}
