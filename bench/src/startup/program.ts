/** The programs that the startup benchmark compares, each with how it is started on the same task. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TASK } from './three-turns.ts'

/** A command line with its whole environment; nothing of ours is inherited. */
export type Launch = { argv: readonly string[]; env: Readonly<Record<string, string>> }

/** What a program is started with: the repository, a home of its own and the model's address. */
export type Setting = { root: string; home: string; modelUrl: string }

const MODEL = 'bench-model'
const KEY = 'not-a-key'

/** `pi -p` of our own dependency: print mode, no network of its own, its tools in no sandbox. */
export function piTask({ root, home, modelUrl }: Setting): Launch {
  const cli = join(root, 'node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js')
  const folder = join(home, 'pi')
  mkdirSync(folder, { recursive: true })
  const provider = {
    baseUrl: `${modelUrl}/v1`,
    api: 'openai-completions',
    apiKey: KEY,
    models: [{ id: MODEL }],
  }
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ providers: { bench: provider } }))
  return {
    argv: [process.execPath, cli, '-p', '--provider', 'bench', '--model', MODEL, '--offline', TASK],
    env: environment(home, { PI_CODING_AGENT_DIR: folder, PI_OFFLINE: '1', PI_TELEMETRY: '0' }),
  }
}

/** `agent run`: the session on disk, the tools in bubblewrap. */
export function agentTask(setting: Setting): Launch {
  return agent(setting, ['run', '--model', MODEL, '--sandbox', 'bubblewrap', TASK])
}

export function agentServe(setting: Setting): Launch {
  return agent(setting, ['serve', '--model', MODEL, '--sandbox', 'bubblewrap'])
}

export function agentVersion(setting: Setting): Launch {
  return agent(setting, ['--version'])
}

/** `beige gateway start` in front, with one agent that nobody has spoken to yet. */
export function gatewayStart({ root, home, modelUrl }: Setting, port: number): Launch {
  const folder = join(home, 'gateway')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const model = { id: MODEL, contextWindow: 128_000, maxTokens: 16_384 }
  const provider = {
    baseUrl: `${modelUrl}/v1`,
    api: 'openai-completions',
    apiKey: KEY,
    models: [model],
  }
  const config = {
    llm: { providers: { bench: provider } },
    agents: {
      bench: { model: { provider: 'bench', model: MODEL }, tools: [], sandbox: { driver: 'bubblewrap' } },
    },
    gateway: { port },
  }
  writeFileSync(join(folder, 'config.json5'), JSON.stringify(config), { mode: 0o600 })
  return {
    argv: [process.execPath, join(root, 'packages/gateway/dist/main.js'), 'gateway', 'start', '--foreground'],
    env: environment(home, { BEIGE_HOME: folder }),
  }
}

function agent({ root, home, modelUrl }: Setting, args: readonly string[]): Launch {
  return {
    argv: [process.execPath, join(root, 'packages/agent/dist/main.js'), ...args],
    env: environment(home, { AI_BASE_URL: `${modelUrl}/v1`, AI_API_KEY: KEY }),
  }
}

function environment(home: string, more: Readonly<Record<string, string>>): Record<string, string> {
  const temp = join(home, 'tmp') // pi's compile cache lies there: warm after the first round, as for a user
  mkdirSync(temp, { recursive: true })
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: home, TMPDIR: temp, LANG: 'C.UTF-8', ...more }
}
