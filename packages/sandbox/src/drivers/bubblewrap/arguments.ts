/** What `bwrap` is told: namespaces, mounts, the environment, and the programs that lead to execd as process 1. */
import { join } from 'node:path'
import type { Mount, SandboxSpec } from '../../sandbox.ts'
import type { HostUsr } from '../host-usr.ts'
import { INSIDE_HOME, INSIDE_WORKSPACE, insideEnv } from '../inside-env.ts'
import type { RunFolder } from '../run-folder.ts'
import type { Workspace } from '../workspace.ts'

const SHM_BYTES = 64 * 1024 ** 2
const ETC_OURS = ['passwd', 'group', 'hosts', 'hostname', 'nsswitch.conf']

export type Plan = {
  spec: SandboxSpec
  folder: RunFolder
  workspace: Workspace
  usr: HostUsr
  /** True when bwrap is started by root, which needs no user namespace and drops to the workspace's owner inside. */
  byRoot: boolean
  /** False where a control group holds the limits. */
  limitByProcess: boolean
  canDisableUserns: boolean
}

/** The options go to bwrap over a descriptor, so that no variable of the sandbox shows in the host's process list. */
export function bwrapOptions(plan: Plan): string[] {
  const { spec, folder, workspace, usr } = plan
  const ro = (host: string, inside: string) => ['--ro-bind', host, inside]
  const tmp = (inside: string, bytes: number, mode: string) => [
    ...['--perms', mode, '--size', `${bytes}`, '--tmpfs', inside],
  ]
  const env = { ...insideEnv(spec), EXECD_IDLE_EXIT_S: '600' }
  return [
    ...namespaces(plan),
    '--clearenv',
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...parentsOf(spec).flatMap(path => ['--perms', '0755', '--dir', path]),
    ...usr.folders.flatMap(path => ro(path, path)),
    ...usr.links.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...ETC_OURS.flatMap(name => ro(join(folder.etc, name), `/etc/${name}`)),
    ...(spec.network === 'open'
      ? ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf']
      : ro(join(folder.etc, 'resolv.conf'), '/etc/resolv.conf')),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...tmp('/dev/shm', SHM_BYTES, '1777'),
    ...tmp('/tmp', spec.limits.tmpBytes, '1777'),
    // Made by root it belongs to root, and only one user is in there: so it is open as /tmp is.
    ...tmp(INSIDE_HOME, spec.limits.tmpBytes, plan.byRoot ? '1777' : '0700'),
    ...['--bind', workspace.path, INSIDE_WORKSPACE],
    ...ro(folder.beige, '/beige'),
    ...['--bind', folder.exec, '/beige/exec'],
    ...(spec.socketsDir ? ro(spec.socketsDir, '/beige/sock') : []),
    ...(spec.launchersDir ? ro(spec.launchersDir, '/tools/bin') : []),
    ...spec.mounts.flatMap(({ host, inside, writable }: Mount) =>
      writable ? ['--bind', host, inside] : ro(host, inside),
    ),
    ...['--chdir', '/', '--remount-ro', '/dev', '--remount-ro', '/'],
  ]
}

// bwrap would make missing ones for its own user alone.
function parentsOf(spec: SandboxSpec): string[] {
  const targets = ['/etc/x', '/tools/bin', INSIDE_HOME, ...spec.mounts.map(({ inside }) => inside)]
  const parents = targets.flatMap(target => {
    const names = target.split('/').slice(1, -1)
    return names.map((_name, at) => `/${names.slice(0, at + 1).join('/')}`)
  })
  return [...new Set(parents)]
}

function namespaces({ spec, byRoot, canDisableUserns }: Plan): string[] {
  const shared = [
    '--as-pid-1',
    '--new-session',
    '--hostname',
    (spec.labels['beige.agent'] ?? spec.id).slice(0, 63),
  ]
  const net = spec.network === 'none' ? ['--unshare-net'] : []
  const spaces = ['--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try', ...net]
  if (!byRoot) {
    return [...shared, ...spaces, '--unshare-user', ...(canDisableUserns ? ['--disable-userns'] : [])]
  }
  // What setpriv needs to become another user and to give up the rest.
  const caps = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap(cap => ['--cap-add', cap])
  return [...shared, ...spaces, '--cap-drop', 'ALL', ...caps]
}

/** Each program replaces itself by the next, so execd ends up as process 1. Paths are absolute: no PATH decides here. */
export function insideCommand({ spec, workspace, byRoot, limitByProcess }: Plan): string[] {
  const { uid, gid } = workspace.user
  const drop = [
    ...['/usr/bin/setpriv', '--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups'],
    ...['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs', '--'],
  ]
  const { files, pids, memoryBytes } = spec.limits
  const limit = [
    ...['/usr/bin/prlimit', '--core=0', `--nofile=${files}`],
    // Data, not address space: runtimes reserve far more addresses than they ever use.
    ...(limitByProcess ? [`--nproc=${pids}`, `--data=${memoryBytes}`] : []),
    '--',
  ]
  return [...(byRoot ? drop : []), ...limit, '/beige/execd']
}

// What the programs before execd would obey while they are still root.
const LOADER_VARIABLE = /^(LD_|GLIBC_|GCONV_|MALLOC_|LOCPATH$|NLSPATH$)/

/** A variable that a root-started sandbox can not have for all its commands; null when there is none. */
export function unsafeVariable(spec: SandboxSpec): string | null {
  return Object.keys(spec.env).find(name => LOADER_VARIABLE.test(name)) ?? null
}
