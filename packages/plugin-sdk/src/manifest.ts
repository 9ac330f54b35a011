/** `plugin.json`: what a plugin is and offers. It is checked before any of its code runs, and enforced afterwards. */
import { arr, bool, int, obj, oneOf, opt, type Static, str, unsafe } from '@earendil-works/pi-schema'

const openObject = unsafe<Record<string, unknown>>({ type: 'object' })

const toolEntry = obj({
  name: str({ pattern: '^[a-z][a-z0-9-]{0,31}(\\.[a-z][a-z0-9_-]{0,31})?$' }),
  description: str({ minLength: 1, maxLength: 1024 }),
  /** Where it can run; `gateway` is the plugin's own process. */
  targets: opt(arr(oneOf(['gateway']), { minItems: 1 })),
  timeoutMs: opt(int({ minimum: 1, maximum: 86_400_000 })),
})

export const pluginManifest = obj({
  name: str({ pattern: '^[a-z][a-z0-9-]{0,31}$' }),
  version: str({ minLength: 1, maxLength: 64 }),
  description: str({ minLength: 1, maxLength: 1024 }),
  /** Module below the plugin's folder that exports `createPlugin`. */
  entry: str({ pattern: '^(?!/)(?!.*(^|/)\\.\\.(/|$)).+\\.(js|mjs|ts)$' }),
  provides: obj({ tools: opt(bool()) }),
  tools: opt(arr(toolEntry, { maxItems: 64 })),
  /** JSON Schema of the plugin's `config`, and of each agent's merged one. */
  configSchema: opt(openObject),
  defaultConfig: opt(openObject),
  /** None is offered by this version; a manifest that asks for one is refused. */
  permissions: opt(arr(str(), { maxItems: 0 })),
  /** Files that agents may read, e.g. README.md, SKILL.md. */
  docs: opt(arr(str({ minLength: 1 }))),
  engines: obj({ beige: str({ minLength: 1 }) }),
})
export type PluginManifest = Static<typeof pluginManifest>
export type ToolEntry = Static<typeof toolEntry>
