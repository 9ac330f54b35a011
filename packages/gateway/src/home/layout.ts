/** Where everything of a home lies, and who may reach it (design page "Gateway", Files). */
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../errors.ts'

export type AgentLayout = {
  root: string
  workspace: string
  /** Shown at `/beige`, `/tools/bin`; what the driver keeps on the host. */
  beige: string
  launchers: string
  run: string
  /** Shown at `/beige/sock`. */
  sockets: string
  toolSocket: string
}

export type Layout = {
  home: string
  config: string
  tokens: string
  keys: string
  run: string
  controlSocket: string
  lock: string
  info: string
  sockets: string
  agents: string
  sessionsMap: string
  data: string
  logs: string
  audit: string
  log: string
  temp: string
  agent(name: string): AgentLayout
}

export function layoutOf(home: string): Layout {
  const run = join(home, 'run')
  const logs = join(home, 'logs')
  return {
    home,
    config: join(home, 'config.json5'),
    tokens: join(home, 'tokens.json'),
    keys: join(home, 'keys'),
    run,
    controlSocket: join(run, 'control.sock'),
    lock: join(run, 'gateway.lock'),
    info: join(run, 'gateway.json'),
    sockets: join(home, 'sockets'),
    agents: join(home, 'agents'),
    sessionsMap: join(home, 'sessions', 'session-map.json'),
    data: join(home, 'data'),
    logs,
    audit: join(logs, 'audit.jsonl'),
    log: join(logs, 'gateway.log'),
    temp: join(home, 'temp'),
    agent: name => {
      const root = join(home, 'agents', name)
      const sockets = join(home, 'sockets', name)
      return {
        root,
        workspace: join(root, 'workspace'),
        beige: join(root, 'beige'),
        launchers: join(root, 'launchers'),
        run: join(root, 'run'),
        sockets,
        toolSocket: join(sockets, 'gateway.sock'),
      }
    },
  }
}

/** Makes what is missing, refuses a home that others may enter, empties `temp/`. */
export function prepareHome(layout: Layout): void {
  makeFolder(layout.home)
  const problem = folderProblem(layout.home)
  if (problem) throw fail('home_unsafe', { path: layout.home, reason: problem })
  for (const folder of [
    layout.keys,
    layout.run,
    layout.sockets,
    layout.agents,
    join(layout.home, 'sessions'),
    layout.data,
    layout.logs,
    layout.temp,
  ])
    makeFolder(folder)
  for (const name of readdirSync(layout.temp))
    rmSync(join(layout.temp, name), { recursive: true, force: true })
}

/** A folder that is its owner's alone, whatever the umask. */
export function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
}

function folderProblem(path: string): string | null {
  const stat = statSync(path)
  if (!stat.isDirectory()) return 'is no folder'
  const uid = process.getuid?.() ?? stat.uid
  if (stat.uid !== uid) return `belongs to uid ${stat.uid}, not to ${uid}`
  if ((stat.mode & 0o077) !== 0)
    return `has mode ${(stat.mode & 0o777).toString(8).padStart(4, '0')}; run: chmod 700 ${path}`
  return null
}
