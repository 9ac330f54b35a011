/** The fields of `settings.json`: one table for the file's check, the flags of `agent settings`, and what they print. */

export type FieldKind =
  | { is: 'text' }
  | { is: 'url' }
  | { is: 'choice'; of: readonly string[] }
  | { is: 'flag' }
  /** Whole numbers from `from`. */
  | { is: 'count'; from: number }
  | { is: 'list' }
  /** Thinking tokens by effort. */
  | { is: 'budgets' }
  /** A list of objects that no flag sets. */
  | { is: 'objects' }

export type Field = {
  name: string
  /** Of `agent settings`, without dashes; null: edited by hand. */
  flag: string | null
  kind: FieldKind
  /** Without `AI_AGENT_`, unless it is whole. */
  variable?: string
  /** What counts when nobody says anything, for people. */
  otherwise: string
  /** Not in a project's own file. */
  isGlobalOnly?: true
}

export const EFFORTS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const
const MODES = ['one_at_a_time', 'all']
export const SANDBOXES = ['auto', 'docker', 'bubblewrap', 'host']

const text = { is: 'text' } as const
const flag = { is: 'flag' } as const
const list = { is: 'list' } as const
const count = (from: number) => ({ is: 'count', from }) as const

export const FIELDS: readonly Field[] = [
  { name: 'model', flag: 'model', kind: text, variable: 'MODEL', otherwise: 'claude-opus-4-8' },
  {
    name: 'gateway_url',
    flag: 'gateway-url',
    kind: { is: 'url' },
    variable: 'AI_GATEWAY_URL',
    otherwise: 'none',
    isGlobalOnly: true,
  },
  {
    name: 'session_dir',
    flag: 'session-dir',
    kind: text,
    variable: 'SESSION_DIR',
    otherwise: 'sessions in the state directory',
    isGlobalOnly: true,
  },
  {
    name: 'default_project_trust',
    flag: 'default-project-trust',
    kind: { is: 'choice', of: ['always', 'never', 'ask'] },
    otherwise: 'ask',
    isGlobalOnly: true,
  },
  {
    name: 'default_reasoning_effort',
    flag: 'default-reasoning-effort',
    kind: { is: 'choice', of: EFFORTS },
    variable: 'REASONING_EFFORT',
    otherwise: 'medium where the model reasons',
  },
  { name: 'thinking_budget', flag: 'thinking-budget', kind: { is: 'budgets' }, otherwise: "the library's" },
  { name: 'block_images', flag: 'block-images', kind: flag, variable: 'BLOCK_IMAGES', otherwise: 'false' },
  { name: 'image_auto_resize', flag: 'image-auto-resize', kind: flag, otherwise: 'true' },
  {
    name: 'bash_shell_path',
    flag: 'default-bash-shell-path',
    kind: text,
    variable: 'BASH_SHELL_PATH',
    otherwise: 'bash, else sh',
  },
  {
    name: 'bash_command_prefix',
    flag: 'default-bash-command-prefix',
    kind: text,
    variable: 'BASH_COMMAND_PREFIX',
    otherwise: 'none',
  },
  ...(
    [
      ['compaction_reserve_tokens', '16384'],
      ['compaction_keep_recent_tokens', '20000'],
      ['branch_summary_reserve_tokens', 'compaction_reserve_tokens'],
    ] as const
  ).map(([name, otherwise]) => named(name, count(1), otherwise)),
  ...(
    [
      ['retry_max_retries', '3'],
      ['retry_base_delay_ms', '250'],
      ['retry_max_backoff_ms', '60000'],
      ['provider_timeout_ms', '300000'],
    ] as const
  ).map(([name, otherwise]) => named(name, count(0), otherwise)),
  named('models', list, 'all'),
  named('fallback_models', list, 'none'),
  named('title_model', text, 'none, so no extra request'),
  named('compaction_model', text, "the session's own"),
  named('skill_paths', list, 'none'),
  named('prompt_template_paths', list, 'none'),
  { name: 'auto_compaction', flag: 'auto-compaction', kind: flag, otherwise: 'true' },
  { name: 'auto_retry', flag: 'auto-retry', kind: flag, otherwise: 'true' },
  {
    name: 'steering_mode',
    flag: 'steering-mode',
    kind: { is: 'choice', of: MODES },
    variable: 'STEERING_MODE',
    otherwise: 'one_at_a_time',
  },
  {
    name: 'follow_up_mode',
    flag: 'follow-up-mode',
    kind: { is: 'choice', of: MODES },
    variable: 'FOLLOW_UP_MODE',
    otherwise: 'one_at_a_time',
  },
  {
    name: 'sandbox',
    flag: 'default-sandbox',
    kind: { is: 'choice', of: SANDBOXES },
    variable: 'SANDBOX',
    otherwise: 'auto',
  },
  {
    name: 'sandbox_image',
    flag: 'default-sandbox-image',
    kind: text,
    variable: 'SANDBOX_IMAGE',
    otherwise: 'beige-sandbox:latest',
  },
  { name: 'mcp_servers', flag: null, kind: { is: 'objects' }, otherwise: 'none' },
]

function named(name: string, kind: FieldKind, otherwise: string): Field {
  return { name, flag: `default-${name.replaceAll('_', '-')}`, kind, variable: name.toUpperCase(), otherwise }
}

/** What a value of this kind must be, for people. */
export function expected(kind: FieldKind): string {
  switch (kind.is) {
    case 'text':
      return 'a text'
    case 'url':
      return 'an http or https URL'
    case 'choice':
      return `one of ${kind.of.join(', ')}`
    case 'flag':
      return 'true or false'
    case 'count':
      return `a whole number from ${kind.from}`
    case 'list':
      return 'a list of texts'
    case 'budgets':
      return `tokens by effort, of ${EFFORTS.slice(1).join(', ')}`
    case 'objects':
      return 'a list of objects'
    default:
      return kind satisfies never
  }
}

/** Of a JSON value. */
export function isGood(kind: FieldKind, value: unknown): boolean {
  switch (kind.is) {
    case 'text':
      return typeof value === 'string' && value !== ''
    case 'url':
      return typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? '')
    case 'choice':
      return typeof value === 'string' && kind.of.includes(value)
    case 'flag':
      return typeof value === 'boolean'
    case 'count':
      return typeof value === 'number' && Number.isSafeInteger(value) && value >= kind.from
    case 'list':
      return Array.isArray(value) && value.every(one => typeof one === 'string' && one !== '')
    case 'budgets':
      return (
        isRecord(value) &&
        Object.entries(value).every(
          ([effort, tokens]) =>
            EFFORTS.some(one => one === effort && one !== 'off') && isGood({ is: 'count', from: 1 }, tokens),
        )
      )
    case 'objects':
      return Array.isArray(value) && value.every(isRecord)
    default:
      return kind satisfies never
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
