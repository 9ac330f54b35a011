/** From the text that a person gives to an exec endpoint: an http or https URL, or `unix:/path` of a socket. */
import { fail } from '../errors.ts'
import type { ExecEndpoint } from '../exec-client.ts'

/** Null where it is neither. */
export function parseEndpoint(
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ExecEndpoint | null {
  const socketPath = /^unix:(?:\/\/)?(\/[^\0]+)$/.exec(text)?.[1]
  if (socketPath !== undefined) return { kind: 'unix', socketPath, basePath: '', headers }
  return /^https?:\/\//.test(text) && URL.canParse(text) ? { kind: 'url', url: text, headers } : null
}

export function endpointOf(text: string, headers: Readonly<Record<string, string>> = {}): ExecEndpoint {
  const endpoint = parseEndpoint(text, headers)
  if (endpoint) return endpoint
  throw fail('endpoint_wrong', { endpoint: text, reason: 'neither an http or https URL nor unix:/path' })
}
