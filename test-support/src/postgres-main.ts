/**
 * A PostgreSQL and proxies to it as a process: prints the database's URL and one through each proxy on one line, then takes a
 * word a line and answers `ok`: `restart fast|crash`, `reset`, `silent N`, `pass N`. The end of stdin ends it.
 *
 *   node --conditions=beige-source test-support/src/postgres-main.ts <proxies>
 */
import { createInterface } from 'node:readline'
import { startPostgres } from './postgres-server.ts'
import { startTcpProxy } from './tcp-proxy.ts'

const count = Number(process.argv[2] ?? 0)
if (!Number.isSafeInteger(count) || count < 0) {
  process.stderr.write('usage: postgres-main.ts <proxies>\n')
  process.exit(2)
}
await using server = await startPostgres()
const proxies = await Promise.all(Array.from({ length: count }, () => startTcpProxy(server.port)))
const url = await server.newDatabase()
const say = (line: string): void => void process.stdout.write(`${line}\n`)
say([url, ...proxies.map(proxy => server.urlThrough(proxy.port, url))].join(' '))

for await (const line of createInterface({ input: process.stdin })) {
  const [word, what] = line.split(' ')
  if (word === 'restart') {
    await server.stop(what === 'fast' ? 'fast' : 'crash')
    await server.start()
  }
  if (word === 'reset') for (const proxy of proxies) proxy.cut('both')
  const proxy = proxies[Number(what)]
  if (proxy && word === 'silent') proxy.mode = 'silent'
  if (proxy && word === 'pass') {
    // What was held back is lost with its connection: the owner comes back by a new one.
    proxy.mode = 'pass'
    proxy.cut('both')
  }
  say('ok')
}
await Promise.all(proxies.map(proxy => proxy[Symbol.asyncDispose]()))
