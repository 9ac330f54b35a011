/** The places whose answers are compared: one execd in several disguises, and the sandboxes that this machine has. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf, newCallId, systemClock, systemRandom } from '@beige/protocol'
import { createExecClient, DEFAULT_LIMITS, type ExecClient, findExecd, openDriver } from '@beige/sandbox'
import { startBaseEndpoint, startExecd } from '@beige/test-support'
import type { ToolContext, ToolResult } from '../../src/tool.ts'
import { errorResult } from '../../src/tool-pipeline.ts'
import { toolset } from '../../src/tools/index.ts'
import type { Owner } from './tree-on-disk.ts'

export type Subject = {
  name: string
  /** Where a tree is made on this machine, and what it is called inside. */
  folder: string
  inside: string
  owner: Owner
  /** A session of its own, which has seen no file. */
  session(): (tool: string, input: object) => Promise<ToolResult>
}

/** What the scripts of the tools need, and no ripgrep. */
const PROGRAMS = [
  ...[
    'sh',
    'bash',
    'cat',
    'chmod',
    'cut',
    'find',
    'grep',
    'head',
    'mkdir',
    'mktemp',
    'mv',
    'readlink',
    'rm',
    'rmdir',
  ],
  ...['sed', 'stat', 'sync', 'tail', 'tr', 'wc'],
]
const isRoot = process.getuid?.() === 0
const NOBODY = { uid: 65534, gid: 65534 }
const CALL_MS = 60_000

export async function openSubjects(
  disposal: AsyncDisposableStack,
): Promise<{ subjects: Subject[]; absent: string[] }> {
  const rest = mkdtempSync(join(tmpdir(), 'beige-differential-'))
  chmodSync(rest, 0o711)
  disposal.defer(() => rmSync(rest, { recursive: true, force: true }))
  const subjects: Subject[] = []
  for (const programs of ['rg', 'grep', 'plain grep'] as const) {
    const path = programs === 'rg' ? {} : { PATH: folderOfPrograms(rest, programs) }
    const execd = disposal.use(
      await startExecd({ ...path, ...(isRoot ? { EXECD_RUN_AS: `${NOBODY.uid}` } : {}) }),
    )
    const base = disposal.use(await startBaseEndpoint(execd.socketPath))
    const place = { folder: execd.root, inside: execd.root, owner: isRoot ? NOBODY : null }
    chmodSync(dirname(execd.root), 0o711)
    chmodSync(execd.root, 0o755)
    for (const [kind, socketPath] of [
      ['execd', execd.socketPath],
      ['base request', base.socketPath],
    ] as const) {
      const exec = createExecClient({ kind: 'unix', socketPath, basePath: '' })
      disposal.defer(() => exec.close())
      subjects.push(subjectOf(`${kind} with ${programs}`, exec, place))
    }
  }
  const absent: string[] = []
  for (const kind of ['bubblewrap', 'docker'] as const) {
    const reason = await whyAbsent(kind)
    if (reason !== null) {
      absent.push(`absent: ${kind} (${reason})`)
      continue
    }
    const workspaceDir = join(rest, kind, 'workspace')
    mkdirSync(workspaceDir, { recursive: true })
    chmodSync(join(rest, kind), 0o711)
    if (isRoot) chownSync(workspaceDir, NOBODY.uid, NOBODY.gid)
    const sandbox = await openDriver({ kind }).open(
      {
        ...{
          id: `test-differential-${rest.slice(-6).toLowerCase()}-${kind}`,
          labels: {},
          mounts: [],
          env: {},
        },
        ...{
          network: 'none',
          image: 'host-usr',
          workspaceDir,
          runDir: join(rest, kind, 'run'),
          limits: DEFAULT_LIMITS,
        },
      },
      AbortSignal.timeout(CALL_MS),
    )
    disposal.defer(() => sandbox.close())
    const place = { folder: workspaceDir, inside: sandbox.workspace, owner: isRoot ? NOBODY : null }
    subjects.push(subjectOf(kind, sandbox.exec, place))
  }
  return { subjects, absent }
}

async function whyAbsent(kind: 'bubblewrap' | 'docker'): Promise<string | null> {
  try {
    findExecd()
    return (await openDriver({ kind }).unavailable(AbortSignal.timeout(CALL_MS)))?.reason ?? null
  } catch (error) {
    return messageOf(error)
  }
}

/** A `PATH` of few programs; a plain grep is one that does not know `-Z`. */
function folderOfPrograms(rest: string, programs: 'grep' | 'plain grep'): string {
  const folder = join(rest, programs.replace(' ', '-'))
  mkdirSync(folder)
  chmodSync(folder, 0o755)
  const isPlain = programs === 'plain grep'
  for (const program of PROGRAMS) {
    if (program !== 'grep' || !isPlain) symlinkSync(join('/usr/bin', program), join(folder, program))
  }
  if (isPlain) {
    const script =
      '#!/bin/sh\nfor a; do case $a in -e) break ;; -Z) echo "grep: unknown option -Z" >&2; exit 2 ;; esac; done\nexec /usr/bin/grep "$@"\n'
    writeFileSync(join(folder, 'grep'), script)
    chmodSync(join(folder, 'grep'), 0o755)
  }
  return folder
}

function subjectOf(
  name: string,
  exec: ExecClient,
  place: { folder: string; inside: string; owner: Owner },
): Subject {
  const tree = `tree ${name}` // a space in the way of all of it
  const inside = join(place.inside, tree)
  const tools = new Map(toolset('coding').map(tool => [tool.name, tool]))
  return {
    name,
    folder: join(place.folder, tree),
    inside,
    owner: place.owner,
    session() {
      const seenFiles = new Map<string, string>()
      return async (tool, input) => {
        const context: ToolContext = {
          ...{
            callId: newCallId(systemClock, systemRandom),
            sessionId: null,
            clock: systemClock,
            env: {},
            seenFiles,
          },
          ...{
            hands: { id: name, open: async () => ({ exec, generation: name, workspace: inside }) },
            cwd: inside,
          },
          ...{ signal: AbortSignal.timeout(CALL_MS), begins: async () => {}, progress: () => {} },
        }
        try {
          const found = tools.get(tool)
          if (!found) throw new Error(`no tool ${tool}`)
          return await found.run(input, context)
        } catch (error) {
          return errorResult('endpoint', messageOf(error))
        }
      }
    },
  }
}
