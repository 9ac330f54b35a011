/** The table of routes: method, path, scope, handler. What is not in it does not exist. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fail } from '../errors.ts'
import type { Scope } from '../tokens/api-tokens.ts'
import type { Principal } from './admission.ts'

export type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  principal: Principal
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  /** Parsed JSON of anything but GET; not yet checked. */
  body: unknown
}

export type Route = {
  method: 'GET' | 'POST' | 'DELETE'
  /** `:name` takes one segment, decoded. */
  path: string
  scope: Scope
  /** Of a body; default: as configured. */
  maxBodyBytes?: number
  handle(exchange: Exchange): Promise<void> | void
}

/** Throws `not_found` and `bad_method`. */
export function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): { route: Route; params: Record<string, string> } {
  const segments = path.split('/')
  const matching = routes.flatMap(route => {
    const params = match(route.path.split('/'), segments)
    return params === null ? [] : [{ route, params }]
  })
  if (matching.length === 0) throw fail('not_found')
  const found = matching.find(({ route }) => route.method === method)
  if (!found) throw fail('bad_method', { allow: matching.map(({ route }) => route.method).join(', ') })
  return found
}

function match(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (pattern.length !== segments.length) return null
  const params: Record<string, string> = {}
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? ''
    if (part.startsWith(':')) {
      const value = decoded(segment)
      if (value === null || value === '') return null
      params[part.slice(1)] = value
    } else if (part !== segment) return null
  }
  return params
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}
