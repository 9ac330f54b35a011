/** The demo's model: a real one where a key is set, else the scripted one, served over HTTP by a process of its own. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

export type DemoModel = {
  /** What the head of the demo says of it. */
  label: string
  /** `llm.providers` and the agent's `model` of the configuration. */
  providers: Readonly<Record<string, unknown>>
  model: { provider: string; model: string }
  stop(): void
}

const REAL = [
  { variable: 'ANTHROPIC_API_KEY', provider: 'anthropic', model: 'claude-sonnet-4-6' },
  { variable: 'OPENAI_API_KEY', provider: 'openai', model: 'gpt-5' },
] as const

export async function demoModel(root: string): Promise<DemoModel> {
  const real = REAL.find(one => (process.env[one.variable] ?? '') !== '')
  if (real) {
    return {
      label: `${real.provider}/${real.model}`,
      // The variable, not its value: a key is never written into a file.
      providers: { [real.provider]: { apiKey: `\${${real.variable}}` } },
      model: { provider: real.provider, model: real.model },
      stop: () => {},
    }
  }
  const { url, stop } = await scriptedModel(root, 'demo-script.ts')
  return {
    label: 'scripted (set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real one)',
    providers: {
      scripted: {
        auth: 'none',
        baseUrl: url,
        api: 'anthropic-messages',
        models: [{ id: 'demo', contextWindow: 200_000, maxTokens: 8192 }],
      },
    },
    model: { provider: 'scripted', model: 'demo' },
    stop,
  }
}

/** Serves a script of test-support by a process of its own. */
export async function scriptedModel(root: string, script: string): Promise<{ url: string; stop(): void }> {
  const folder = join(root, 'test-support/src')
  const args = ['--conditions=beige-source', join(folder, 'model-server-main.ts'), join(folder, script)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await new Promise<string>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', code => reject(new Error(`the scripted model ended with ${code}`)))
    child.stdout.setEncoding('utf8').once('data', (line: string) => resolve(line.trim()))
  })
  return { url, stop: () => child.kill() }
}
