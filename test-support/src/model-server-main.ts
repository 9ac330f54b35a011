/**
 * Serves a script as a process and prints the server's URL on one line.
 *
 *   node --conditions=source test-support/src/model-server-main.ts <script module | echo> [port] [api key]
 *
 * The module exports `script`. SIGTERM and SIGINT stop it.
 */
import { pathToFileURL } from 'node:url'
import { echoScript, type Script } from './model-script.ts'
import { startModelServer } from './model-server.ts'

const [name, port = '0', apiKey] = process.argv.slice(2)
if (name === undefined || !/^\d{1,5}$/.test(port)) {
  process.stderr.write('usage: model-server-main.ts <script module | echo> [port] [api key]\n')
  process.exit(2)
}
const script = name === 'echo' ? echoScript : await loadScript(name)
const server = await startModelServer({
  script,
  port: Number(port),
  ...(apiKey === undefined ? {} : { apiKey }),
  keepRequests: 10,
})
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void server.close())
process.stdout.write(`${server.url}\n`)

async function loadScript(path: string): Promise<Script> {
  const loaded: unknown = await import(pathToFileURL(path).href)
  if (typeof loaded === 'object' && loaded !== null && 'script' in loaded && isScript(loaded.script))
    return loaded.script
  process.stderr.write(`${path} exports no \`script\`: a list of turns or a function\n`)
  process.exit(2)
}

function isScript(value: unknown): value is Script {
  return Array.isArray(value) || typeof value === 'function'
}
