/** The only ways an import may point between workspaces (ARCHITECTURE.md); everything else is refused. */

const BELOW_HARNESS = ['protocol', 'sandbox', 'sessions', 'models']
const SERVERS = ['client', 'plugin-sdk', ...BELOW_HARNESS, 'harness', 'host']

const ARROWS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  client: ['protocol'],
  'plugin-sdk': ['protocol'],
  'execd-linux-x64': [],
  'execd-linux-arm64': [],
  sandbox: ['protocol'],
  sessions: ['protocol'],
  models: ['protocol'],
  harness: BELOW_HARNESS,
  host: [...BELOW_HARNESS, 'harness'],
  agent: SERVERS,
  gateway: SERVERS,
  tui: ['protocol', 'client'],
  'test-support': ['protocol'],
  // Neither is shipped; both start what a test starts, such as a database of their own.
  bench: [...SERVERS, 'test-support'],
  scripts: [...SERVERS, 'test-support'],
}

/** External packages that only some workspaces may import or depend on, and what may be said of the rest. */
export const GUARDED_PACKAGES: Readonly<Record<string, { import: string[]; depend: string[] }>> = {
  '@earendil-works/pi-coding-agent': { import: ['packages/tui'], depend: ['packages/tui', 'bench'] },
  '@earendil-works/pi-tui': { import: ['packages/tui'], depend: ['packages/tui'] },
}

/** Short names of the workspaces that `workspace` may import, by its folder; undefined for an unknown one. */
export function arrowsOf(workspace: string): readonly string[] | undefined {
  if (workspace.startsWith('plugins/')) return ['plugin-sdk']
  return ARROWS[shortNameOf(workspace)]
}

export function shortNameOf(workspace: string): string {
  return workspace.replace(/^packages\//, '')
}
