/** The environment of a sandbox: made from nothing, with nothing of the host's (design page "Sandboxes", wiring). */
import type { SandboxSpec } from '../sandbox.ts'

export const INSIDE_SOCKET = '/beige/exec/exec.sock'
export const INSIDE_HOME = '/home/agent'
export const INSIDE_WORKSPACE = '/workspace'
const PATH = '/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function insideEnv(spec: SandboxSpec): Record<string, string> {
  return {
    PATH,
    HOME: INSIDE_HOME,
    LANG: 'C.UTF-8',
    USER: 'agent',
    ...spec.env,
    EXECD_LISTEN: `unix:${INSIDE_SOCKET}`,
    EXECD_PEERS: 'outside',
    EXECD_ROOT: INSIDE_WORKSPACE,
    EXECD_HOME: INSIDE_HOME,
    EXECD_LOG: 'off', // what a command may provoke must not fill a disk of the host
  }
}
