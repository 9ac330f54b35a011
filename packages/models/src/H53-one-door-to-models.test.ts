/** Nothing but the router reaches a model: no other source imports a wire, a vendor's library or a raw stream. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'

const PACKAGES = join(import.meta.dirname, '..', '..')
const PLUGINS = join(PACKAGES, '..', 'plugins')
const DOORS =
  /from '(?:@earendil-works\/pi-ai\/(?:api|providers|compat)[^']*|openai[^']*|@anthropic-ai\/[^']*|@google\/genai[^']*|@mistralai\/[^']*)'|import\('(?:@earendil-works\/pi-ai\/(?:api|providers)|openai|@anthropic-ai)/
// Values of pi-ai's index stream too; types do not.
const INDEX =
  /^import (?!type )[^;]*?\b(?:stream|streamSimple|complete|completeSimple|createModels)\b[^;]*? from '@earendil-works\/pi-ai'/m

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !/node_modules|(?:^|\/)dist\//.test(name) && !isTest(name))
    .map(name => join(folder, name))
}
function isTest(name: string): boolean {
  return name.endsWith('.test.ts') || /(?:^|\/)test\//.test(name)
}

function doors(): string[] {
  return [...sources(PACKAGES), ...sources(PLUGINS)]
    .filter(path => DOORS.test(readFileSync(path, 'utf8')) || INDEX.test(readFileSync(path, 'utf8')))
    .map(path => relative(PACKAGES, path))
}

test('only the wires, the catalogues and the logins of this package', () => {
  assert.deepEqual(doors().sort(), [
    'models/src/adapters.ts',
    'models/src/logins/login-flows.ts',
    'models/src/provider-table.ts',
  ])
})
