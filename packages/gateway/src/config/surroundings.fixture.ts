/** A machine of a test's own for the checks of a configuration. */
import type { PluginManifest } from '@beige/plugin-sdk'
import type { Surroundings } from './surroundings.ts'

const MANIFEST: PluginManifest = {
  name: 'kv',
  version: '1.0.0',
  description: 'Keeps values',
  entry: 'index.ts',
  provides: { tools: true },
  tools: [
    { name: 'kv', description: 'Keeps values' },
    { name: 'kv.get', description: 'Reads one' },
  ],
  configSchema: { type: 'object', properties: { maxKeys: { type: 'integer' } }, additionalProperties: false },
  engines: { beige: '1' },
}

export function surroundings(env: Record<string, string> = {}): Surroundings {
  return {
    env,
    userHome: '/users/u',
    beigeHome: '/users/u/.beige',
    canonical: path => path,
    readManifest: folder =>
      folder.endsWith('/kv')
        ? { ok: true, value: MANIFEST }
        : { ok: false, reason: `${folder}/plugin.json is not there` },
    readSecretFile: path => ({ ok: true, value: `secret of ${path}` }),
    runSecretCommand: async argv => ({ ok: true, value: `secret of ${argv.join(' ')}` }),
    fileExists: path => path.endsWith('.md'),
    isKnownProvider: name => ['anthropic', 'openai'].includes(name),
    models: async name =>
      (name === 'anthropic' ? ['claude-sonnet-4-6', 'claude-opus-4-8'] : ['gpt-5']).map(id => ({
        id,
        isPriced: id !== 'gpt-5',
      })),
  }
}
