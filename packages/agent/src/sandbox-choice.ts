/** Where the tools run: a driver by its name, or somebody else's exec endpoint with the headers that let us in. */
import { parseEndpoint } from '@beige/sandbox'
import { fail } from './errors.ts'

export type SandboxChoice =
  | { kind: 'auto' | 'docker' | 'bubblewrap' | 'host' }
  | { kind: 'remote'; url: string; headers: Readonly<Record<string, string>> }

type RawChoice = { sandbox?: string; execUrl?: string; execHeader?: string[] }

export function sandboxChoice(raw: RawChoice, variable: (name: string) => string | undefined): SandboxChoice {
  if (raw.sandbox !== undefined && raw.execUrl !== undefined) {
    throw fail('bad_value', {
      name: '--exec-url',
      reason: '--sandbox says it too',
      expected: 'one of the two',
    })
  }
  const url = raw.execUrl ?? (raw.sandbox === undefined ? variable('EXEC_URL') : undefined)
  const text = url ?? raw.sandbox ?? variable('SANDBOX') ?? 'auto'
  const named = url === undefined && isDriver(text) ? text : null
  if (named) {
    if (!raw.execHeader) return { kind: named }
    const reason = `--sandbox ${named} has no URL`
    throw fail('bad_value', { name: '--exec-header', reason, expected: 'an exec endpoint beside it' })
  }
  if (parseEndpoint(text)) return { kind: 'remote', url: text, headers: headers(raw, variable) }
  throw fail('bad_value', {
    name: url === undefined ? '--sandbox' : '--exec-url',
    reason: `${JSON.stringify(text)} is none of them`,
    expected: `${url === undefined ? 'auto, docker, bubblewrap, host, ' : ''}an http(s) URL or unix:/path`,
  })
}

function isDriver(text: string): text is 'auto' | 'docker' | 'bubblewrap' | 'host' {
  return text === 'auto' || text === 'docker' || text === 'bubblewrap' || text === 'host'
}

/** One `Name: value` each; of the variable, one a line. */
function headers({ execHeader }: RawChoice, variable: (name: string) => string | undefined) {
  const name = execHeader ? '--exec-header' : 'AI_AGENT_EXEC_HEADER'
  const lines = execHeader ?? (variable('EXEC_HEADER') ?? '').split('\n').filter(line => line.trim() !== '')
  const found: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    // Not the line itself: it may be a token.
    if (colon <= 0) throw fail('bad_value', { name, reason: 'it has no colon', expected: 'Name: value' })
    found[line.slice(0, colon).trim()] = line.slice(colon + 1).trim()
  }
  return found
}
