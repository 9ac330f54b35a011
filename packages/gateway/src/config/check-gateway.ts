/** `gateway`: defaults, and no address beyond this machine without TLS. */
import type { ConfigDocument } from '@beige/protocol'
import type { Report } from './report.ts'
import type { GatewaySettings } from './resolved.ts'
import type { Surroundings } from './surroundings.ts'
import { isLoopback } from './url.ts'

const MIB = 1_048_576

export function checkGateway(
  document: ConfigDocument,
  around: Surroundings,
  report: Report,
): GatewaySettings {
  const section = document.gateway ?? {}
  const host = section.host ?? '127.0.0.1'
  if (!isLoopback(host) && section.tls === undefined)
    report.add(['gateway', 'host'], `${host} is not this machine alone: it needs gateway.tls`)
  for (const [index, origin] of (section.origins ?? []).entries())
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      report.add(['gateway', 'origins', index], 'must be an origin such as https://example.com')
  for (const [index, name] of (section.publicHosts ?? []).entries())
    if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name))
      report.add(['gateway', 'publicHosts', index], 'must be a host name in lower case, without port')

  const tlsFile = (key: 'cert' | 'key') => {
    const text = section.tls?.[key]
    if (text === undefined) return ''
    const place = ['gateway', 'tls', key]
    const path = report.path(place, text)
    if (path === null) return ''
    if (key === 'cert') {
      if (!around.fileExists(path)) report.add(place, `${path} is not there`)
    } else {
      const read = around.readSecretFile(path)
      if (!read.ok) report.add(place, read.reason)
    }
    return path
  }
  return {
    host,
    port: section.port ?? 7433,
    tls: section.tls === undefined ? null : { cert: tlsFile('cert'), key: tlsFile('key') },
    publicHosts: section.publicHosts ?? [],
    origins: section.origins ?? [],
    maxBodyBytes: section.maxBodyBytes ?? 8 * MIB,
    requestsPerMinute: section.requestsPerMinute ?? 600,
    drainMs: section.drainMs ?? 10_000,
    log: {
      level: section.log?.level ?? 'info',
      maxSizeBytes: section.log?.maxSizeBytes ?? 10 * MIB,
      maxFiles: section.log?.maxFiles ?? 5,
    },
    audit: {
      maxSizeBytes: section.audit?.maxSizeBytes ?? 10 * MIB,
      args: section.audit?.args ?? 'redacted',
    },
  }
}
