/** Collects what the checks across sections find, and what they share: names, paths, secrets. */
import { join, resolve } from 'node:path'
import { CONFIG_NAME, nearest, type Place, RESERVED_NAMES, type SecretSource } from '@beige/protocol'
import { MENDED } from './mend.ts'
import type { Problem } from './problem.ts'
import type { KnownSecret } from './resolved.ts'
import type { Surroundings } from './surroundings.ts'
import { valueAt } from './validate.ts'

export interface Report {
  readonly problems: readonly Problem[]
  readonly secrets: readonly KnownSecret[]
  add(place: Place, text: string, suggestion?: string): void
  addKey(place: Place, text: string, suggestion?: string): void
  /** Reports `missing; why` where the file has nothing at `place`, also nothing wrong. */
  missing(place: Place, why: string): void
  /** Checks the name of an agent, provider or plugin. */
  name(place: Place, name: string): void
  /** An absolute path: `~/` is the user's home, everything else starts at the file's folder. Null after a report. */
  path(place: Place, text: string): string | null
  /** Reads a secret and remembers it for the redactor. Null after a report. */
  secret(place: Place, name: string, source: SecretSource): Promise<string | null>
  remember(name: string, value: string): void
}

/** `document` is what the file has, mistakes included. */
export function createReport(configFolder: string, document: unknown, around: Surroundings): Report {
  const problems: Problem[] = []
  const secrets: KnownSecret[] = []
  const put = (at: 'key' | 'value') => (place: Place, text: string, suggestion?: string) => {
    problems.push({ place, at, text, ...(suggestion === undefined ? {} : { suggestion }) })
  }
  const add = put('value')

  const report: Report = {
    problems,
    secrets,
    add,
    addKey: put('key'),
    missing(place, why) {
      if (valueAt(document, place) === undefined) report.addKey(place, `missing; ${why}`)
    },
    name(place, name) {
      if (!CONFIG_NAME.test(name))
        report.addKey(place, 'a name is 1 to 32 of a-z, 0-9 and "-", and begins with a letter')
      else if (RESERVED_NAMES.includes(name)) report.addKey(place, `"${name}" is reserved`)
    },
    path(place, text) {
      if (text === MENDED) return null
      const isHome = text === '~' || text.startsWith('~/')
      if (/[\u0000-\u001f\u007f]/.test(text)) add(place, 'a path has no control characters')
      else if (isHome) return join(around.userHome, text.slice(1))
      else if (text.startsWith('~')) add(place, 'only ~/ is known, not the home of another user')
      else return resolve(configFolder, text)
      return null
    },
    async secret(place, name, source) {
      if (typeof source === 'string') {
        if (source.includes('\u0000')) return null // reported when it was expanded
        report.remember(name, source)
        return source
      }
      const read =
        'file' in source ? readFile(place, source.file) : await around.runSecretCommand(source.command)
      if (read === null) return null
      if (!read.ok || read.value === '') {
        const from = 'file' in source ? 'the file' : 'the command'
        add([...place, 'file' in source ? 'file' : 'command'], read.ok ? `${from} gave nothing` : read.reason)
        return null
      }
      report.remember(name, read.value)
      return read.value
    },
    remember(name, value) {
      if (value !== '') secrets.push({ name, value })
    },
  }
  const readFile = (place: Place, text: string) => {
    const path = report.path([...place, 'file'], text)
    return path === null ? null : around.readSecretFile(path)
  }
  return report
}

export function nearestName(name: string, known: Iterable<string>): string | undefined {
  return nearest(name, known, 1)[0]
}
