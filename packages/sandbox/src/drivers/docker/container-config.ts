/** What the engine is asked for: the hardened container of the design pages ("Sandbox in Docker", "Container hardening"). */
import { join } from 'node:path'
import type { SandboxSpec } from '../../sandbox.ts'
import type { HostUsr } from '../host-usr.ts'
import { INSIDE_HOME, INSIDE_WORKSPACE, insideEnv } from '../inside-env.ts'
import type { RunFolder } from '../run-folder.ts'
import type { Workspace } from '../workspace.ts'

const SHM_BYTES = 64 * 1024 ** 2
const ETC_OURS = ['passwd', 'group', 'nsswitch.conf'] // the engine makes hosts, hostname and resolv.conf

export type ContainerPlan = {
  spec: SandboxSpec
  folder: RunFolder
  workspace: Workspace
  image: string
  /** The programs of this machine, for the image that has none. */
  usr: HostUsr | null
  labels: Readonly<Record<string, string>>
}

export function containerConfig(plan: ContainerPlan): object {
  const { spec, workspace, image, labels } = plan
  const { uid, gid } = workspace.user
  const { memoryBytes, cpus, pids, tmpBytes, files } = spec.limits
  // The engine adds noexec unless told otherwise, and builds run what they have made.
  const tmpfs = `rw,exec,nosuid,nodev,size=${tmpBytes}`
  return {
    Image: image,
    User: `${uid}:${gid}`,
    Hostname: labels['beige.agent']?.slice(0, 63),
    Env: Object.entries(insideEnv(spec)).map(([name, value]) => `${name}=${value}`),
    WorkingDir: INSIDE_WORKSPACE,
    Entrypoint: ['/beige/execd'],
    Cmd: [],
    Labels: labels,
    HostConfig: {
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true'],
      Privileged: false,
      ReadonlyRootfs: true,
      NetworkMode: spec.network === 'none' ? 'none' : 'bridge',
      IpcMode: 'private',
      ShmSize: SHM_BYTES,
      Tmpfs: { '/tmp': `${tmpfs},mode=1777`, [INSIDE_HOME]: `${tmpfs},uid=${uid},gid=${gid},mode=700` },
      PidsLimit: pids,
      Memory: memoryBytes,
      MemorySwap: memoryBytes, // memory and swap together: no swap
      NanoCpus: Math.round(cpus * 1e9),
      Ulimits: [
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'nofile', Soft: files, Hard: files },
      ],
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
      Mounts: mountsOf(plan),
    },
  }
}

function mountsOf({ spec, folder, workspace, usr }: ContainerPlan): object[] {
  const ours = [
    mount(workspace.path, INSIDE_WORKSPACE, true),
    mount(folder.beige, '/beige', false),
    mount(folder.exec, '/beige/exec', true),
    ...(spec.socketsDir ? [mount(spec.socketsDir, '/beige/sock', false)] : []),
    ...(spec.launchersDir ? [mount(spec.launchersDir, '/tools/bin', false)] : []),
    ...spec.mounts.map(({ host, inside, writable }) => mount(host, inside, writable)),
  ]
  const programs = usr
    ? [
        ...usr.folders.map(path => mount(path, path, false)),
        ...ETC_OURS.map(name => mount(join(folder.etc, name), `/etc/${name}`, false)),
      ]
    : []
  return [...programs, ...ours]
}

function mount(host: string, inside: string, writable: boolean): object {
  return {
    Type: 'bind',
    Source: host,
    Target: inside,
    ReadOnly: !writable,
    BindOptions: { Propagation: 'rprivate' },
  }
}
