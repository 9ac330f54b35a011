/** What `npm run build` makes, by workspace. */

/** Entry name → source; `main` becomes dist/main.js behind the launcher, others dist/<name>.js. */
export const PROGRAMS: Readonly<Record<string, Record<string, string>>> = {
  'packages/agent': { main: 'src/main.ts' },
  'packages/gateway': { main: 'src/main.ts', 'plugin-runner-main': 'src/plugin-runner-main.ts' },
  'test-support': { 'model-server-main': 'src/model-server-main.ts' },
}

/** Loaded by plugins and by other people's programs, so built beside their sources. */
export const LIBRARIES: readonly string[] = [
  'packages/protocol',
  'packages/client',
  'packages/plugin-sdk',
  'plugins/kv',
]
