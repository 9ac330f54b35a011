/** `llm.providers`: an address and a wire that are known or given, a key unless none is taken, TLS beyond this machine. */
import type { ConfigDocument } from '@beige/protocol'
import type { Report } from './report.ts'
import type { ProviderConfig } from './resolved.ts'
import type { Surroundings } from './surroundings.ts'
import { isLoopback } from './url.ts'

export async function checkProviders(
  document: ConfigDocument,
  around: Surroundings,
  report: Report,
): Promise<ProviderConfig[]> {
  const providers: ProviderConfig[] = []
  for (const [name, section] of Object.entries(document.llm.providers)) {
    const place = ['llm', 'providers', name]
    report.name(place, name)
    if (!around.isKnownProvider(name)) {
      for (const key of ['baseUrl', 'api'] as const)
        if (section[key] === undefined)
          report.missing([...place, key], `"${name}" is no provider that is known by name`)
      if (section.models === undefined)
        report.missing([...place, 'models'], `the models of "${name}" are not known by name`)
    }
    checkUrl(section.baseUrl, section.insecure ?? false, [...place, 'baseUrl'], report)
    const ids = (section.models ?? []).map(model => model.id)
    for (const [index, id] of ids.entries())
      if (ids.indexOf(id) < index) report.add([...place, 'models', index, 'id'], `"${id}" is listed twice`)

    if (section.concurrency === 0)
      report.add([...place, 'concurrency'], '0 would wait for ever: -1 is no limit, or give 1 or more')

    const { apiKey: source, auth, headers = {}, ...rest } = section
    if (auth === 'none' && source !== undefined)
      report.add([...place, 'auth'], '"none" and an apiKey are both given')
    if (auth !== 'none' && source === undefined)
      report.missing([...place, 'apiKey'], 'where none is needed, say auth: "none"')
    const apiKey =
      source === undefined ? null : await report.secret([...place, 'apiKey'], `${name}.apiKey`, source)
    for (const [header, value] of Object.entries(headers)) report.remember(`${name}.${header}`, value)
    providers.push({ ...rest, name, apiKey, headers })
  }
  return providers
}

function checkUrl(
  text: string | undefined,
  insecure: boolean,
  place: readonly string[],
  report: Report,
): void {
  if (text === undefined) return
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    report.add(place, 'must be an http or https URL')
  else if (url.username !== '' || url.password !== '')
    report.add(place, 'a URL has no user or password in it')
  else if (url.protocol === 'http:' && !isLoopback(url.hostname) && !insecure)
    report.add(place, 'plain http beyond this machine needs insecure: true beside it')
}
