/** `kv`: keeps values by name. Each agent has its own; a script in the sandbox calls it like any program. */
import { join } from 'node:path'
import { type CreatePlugin, type PluginCall, readAll, type ToolOutcome } from '@beige/plugin-sdk'
import { openStore, type Store } from './store.ts'

const MAX_KEY_BYTES = 1024
const USAGE = `usage: kv set KEY [VALUE]     without VALUE: standard input
       kv get [--raw] KEY     --raw: no newline after the value
       kv list [PREFIX]
       kv delete KEY
`

export const createPlugin: CreatePlugin = (_config, context) => {
  const stores = new Map<string, Promise<Store>>()
  const storeOf = (agent: string): Promise<Store> => {
    const known = stores.get(agent)
    if (known) return known
    const opening = openStore(join(context.dataDir, `${agent}.jsonl`))
    stores.set(agent, opening)
    opening.catch(() => stores.delete(agent))
    return opening
  }
  return {
    register(reg) {
      reg.tool({
        name: 'kv',
        description: 'Keeps values by name',
        handler: async (args, call) => run(args, call, await storeOf(call.agent)),
      })
    },
    async stop() {
      for (const store of stores.values()) await (await store).close()
      stores.clear()
    },
  }
}

async function run(args: readonly string[], call: PluginCall, store: Store): Promise<ToolOutcome> {
  const [verb, ...rest] = args
  switch (verb) {
    case 'set':
      return set(rest, call, store)
    case 'get':
      return get(rest, store)
    case 'list':
      if (rest.length > 1) return usage()
      return {
        exitCode: 0,
        output: store
          .keys(rest[0] ?? '')
          .map(key => `${key}\n`)
          .join(''),
      }
    case 'delete': {
      const [key] = rest
      if (key === undefined || rest.length > 1) return usage()
      return (await store.delete(key)) ? { exitCode: 0 } : failed(`no key ${JSON.stringify(key)}`)
    }
    case 'help':
    case '--help':
      return { exitCode: 0, output: USAGE }
    default:
      return usage()
  }
}

async function set(args: readonly string[], call: PluginCall, store: Store): Promise<ToolOutcome> {
  const [key] = args
  if (key === undefined || args.length > 2) return usage()
  const problem = keyProblem(key)
  if (problem) return failed(problem)
  const maxValueBytes = limit(call, 'maxValueBytes')
  // The value byte for byte, as it was given; `args` is a decoded copy.
  const value =
    args.length === 2 ? call.argv[2] : await readAll(call.stdin, maxValueBytes).catch(undefinedIfTooLarge)
  if (value === undefined || value.length > maxValueBytes)
    return failed(`a value has at most ${maxValueBytes} bytes`)
  if (store.get(key) === undefined && store.size >= limit(call, 'maxKeys'))
    return failed(`there are already ${limit(call, 'maxKeys')} keys`)
  await store.set(key, value)
  return { exitCode: 0 }
}

function undefinedIfTooLarge(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'too_large')) throw error
}

function get(args: readonly string[], store: Store): ToolOutcome {
  const isRaw = args[0] === '--raw' && args.length === 2
  const key = isRaw ? args[1] : args[0]
  if (key === undefined || (!isRaw && args.length !== 1)) return usage()
  const value = store.get(key)
  if (value === undefined) return failed(`no key ${JSON.stringify(key)}`)
  return { exitCode: 0, output: isRaw ? value : Buffer.concat([value, Buffer.from('\n')]) }
}

function keyProblem(key: string): string | null {
  if (key === '') return 'a key is not empty'
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `a key has at most ${MAX_KEY_BYTES} bytes`
  if (/[\u0000-\u001f\u007f\ufffd]/.test(key)) return 'a key is text without control characters'
  return null
}

function limit(call: PluginCall, name: string): number {
  const value = call.config[name]
  return typeof value === 'number' ? value : 0
}

function failed(text: string): ToolOutcome {
  return { exitCode: 1, error: `kv: ${text}\n` }
}

function usage(): ToolOutcome {
  return { exitCode: 2, error: USAGE }
}
