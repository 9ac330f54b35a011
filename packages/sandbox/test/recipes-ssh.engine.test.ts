/** Recipe 3 of docs/sandboxes.md: execd's socket forwarded by ssh from a real sshd, and the agent's tools over it. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { openDriver } from '../src/index.ts'
import { execdAbsence, programAbsence, TEST_MS, until } from './machine.ts'
import {
  anySpec,
  asPlainUser,
  endAfter,
  freePort,
  isRoot,
  plainUser,
  recipe,
  recipeFolder,
  runBlock,
} from './recipes.ts'

const SSHD = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find(existsSync)
const noSshd = SSHD ? null : 'absent: sshd (no /usr/sbin/sshd; Debian: openssh-server)'
const skip = execdAbsence() ?? noSshd ?? programAbsence('sshd', 'ssh', '-V') ?? false
const USER = isRoot() ? 'nobody' : userInfo().username
const PACKAGES = join(import.meta.dirname, '../..')

test('the agent works on another machine, and finds it again after the forward was cut', {
  skip,
  timeout: TEST_MS,
}, async context => {
  const { signal } = context
  const home = recipeFolder(context, true)
  const [there = '', here = ''] = recipe(3)
  endAfter(context, runBlock(there, home, asPlainUser).pid)
  const far = await startSshd(context, home)
  const mine = join(dirname(home), 'mine')
  mkdirSync(mine)
  const socket = join(mine, 'far.sock')
  const [forward = '', task = ''] = here.split('\n')
  const cut = await startForward(
    context,
    forward.replaceAll('/srv/me', home).replace('me@far', far),
    mine,
    signal,
  )

  const driver = openDriver({ kind: 'remote', url: `unix:${socket}` })
  const before = await driver.open(anySpec, signal)
  assert.equal(before.workspace, join(home, 'work'))
  assert.equal((await before.inspect(signal)).uid, plainUser.uid)
  assert.equal(statSync(socket).mode & 0o077, 0, 'other users have no way to it')
  const job = { scope: 'recipe', id: 'long', keep: true }
  const begun = Promise.withResolvers<void>()
  const following = before.exec.startJob(
    { command: 'sleep', args: ['1000'] },
    job,
    { onStart: begun.resolve, onChunk: () => {} },
    signal,
  )
  await begun.promise
  const lost = assert.rejects(following, { code: 'endpoint_lost' })

  const words =
    task
      .replace('$PWD', mine)
      .match(/"[^"]*"|\S+/g)
      ?.map(word => word.replaceAll('"', '')) ?? []
  assert.deepEqual(words.slice(0, 3), ['agent', 'run', '--sandbox'])
  const said = await runAgent(context, words.slice(1), mine)
  assert.equal(said.code, 0, said.text)
  assert.equal(readFileSync(join(home, 'work/made'), 'utf8'), `${join(home, 'work')} ${plainUser.uid}\n`)
  assert.equal(statSync(join(home, 'work/made')).uid, plainUser.uid)

  await cut()
  await lost
  await assert.rejects(driver.open(anySpec, signal), { code: 'endpoint_unreachable' })
  await startForward(context, forward.replaceAll('/srv/me', home).replace('me@far', far), mine, signal)
  const after = await driver.open(anySpec, signal)
  assert.equal(after.generation, before.generation)
  assert.equal((await after.exec.jobState(job, signal)).state, 'running')
  await after.exec.killJob(job, signal)
  await Promise.all([before.close(), after.close()])
})

/** An sshd with a configuration and keys of its own, as the plain user; what ssh needs to get in as that one. */
async function startSshd(context: TestContext, home: string): Promise<string> {
  const folder = join(dirname(home), 'sshd')
  mkdirSync(folder)
  const [hostKey, userKey] = ['host', 'user'].map(name => {
    const file = join(folder, name)
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file])
    return file
  })
  const port = await freePort()
  const config = join(folder, 'config')
  writeFileSync(
    config,
    `ListenAddress 127.0.0.1\nPort ${port}\nHostKey ${hostKey}\nAuthorizedKeysFile ${userKey}.pub\nPidFile none
UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\n`,
  )
  writeFileSync(join(folder, 'known'), `[127.0.0.1]:${port} ${readFileSync(`${hostKey}.pub`, 'utf8')}`)
  chmodSync(folder, 0o755)
  if (isRoot()) execFileSync('chown', [`${plainUser.uid}:${plainUser.gid}`, `${hostKey}`])
  const sshd = spawn(SSHD ?? '', ['-D', '-e', '-f', config], {
    ...(isRoot() ? plainUser : {}),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  context.after(() => ended(sshd))
  const lines: string[] = []
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: sshd.stderr }).on('line', line => {
      lines.push(line)
      if (line.includes('Server listening')) resolve()
    })
    sshd.once('exit', () => reject(new Error(`sshd ended: ${lines.join('\n')}`)))
  })
  const known = `-o UserKnownHostsFile="${join(folder, 'known')}" -o StrictHostKeyChecking=yes`
  return `-F none -o BatchMode=yes -o IdentitiesOnly=yes ${known} -i "${userKey}" -p ${port} ${USER}@127.0.0.1`
}

/** Starts the line of the page; the returned function cuts it. */
async function startForward(context: TestContext, line: string, cwd: string, signal: AbortSignal) {
  const socket = join(cwd, 'far.sock')
  const ssh = spawn('sh', ['-c', `exec ${line.replace(/ &$/, '')}`], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  ssh.stderr.on('data', chunk => {
    text += String(chunk)
  })
  context.after(() => ended(ssh))
  await until(() => {
    if (ssh.exitCode !== null) throw new Error(`ssh ended: ${text}`)
    return listens(socket)
  }, signal)
  return () => ended(ssh)
}

/** A file may be left of one that is gone. */
function listens(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

/** `agent` with a model that asks for one command and is content. */
async function runAgent(context: TestContext, args: readonly string[], cwd: string) {
  const command = 'echo "$(pwd) $(id -u)" > made'
  const script = [{ calls: [{ name: 'bash', input: { command } }] }, { text: 'done' }]
  writeFileSync(join(cwd, 'script.mjs'), `export const script = ${JSON.stringify(script)}\n`)
  const node = (file: string, ...more: string[]) => [
    '--conditions=beige-source',
    join(PACKAGES, file),
    ...more,
  ]
  const model = spawn(
    process.execPath,
    node('../test-support/src/model-server-main.ts', join(cwd, 'script.mjs')),
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  context.after(() => ended(model))
  const [url] = await once(createInterface({ input: model.stdout }), 'line')
  const agent = spawn(process.execPath, node('agent/src/main.ts', ...args), {
    cwd,
    env: {
      ...{ PATH: process.env.PATH, HOME: cwd, BEIGE_HOME: join(cwd, 'beige') },
      ...{ AI_BASE_URL: String(url), AI_PROVIDER: 'anthropic', AI_API_KEY: 'sk-none' },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [agent.stdout, agent.stderr])
    stream.on('data', chunk => {
      text += String(chunk)
    })
  const [code] = await once(agent, 'close')
  return { code, text }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill()
  await once(child, 'exit')
}
