/** Recipes 1 and 2 of docs/sandboxes.md: a Dockerfile on anything, and any image with a shell. No registry is asked. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDriver, type Sandbox } from '../src/index.ts'
import { absenceOf, programAbsence, sh, TEST_MS, until } from './machine.ts'
import { anySpec, isRoot, plainUser, recipe, recipeFolder, runBlock } from './recipes.ts'

const AGENT = isRoot() ? 10_001 : plainUser.uid
const PROGRAMS = [
  'sh',
  'cat',
  'chmod',
  'cut',
  'dirname',
  'id',
  'mkdir',
  'mktemp',
  'mv',
  'pwd',
  'rm',
  'sha256sum',
  'tr',
]
const skip = absenceOf('docker') ?? programAbsence('docker', 'docker', '--version') ?? false

test('a Dockerfile from an image', { skip, timeout: TEST_MS }, async context => {
  const { sandbox } = await built(context, shellImage(context))
  await isWalled(sandbox, context.signal)
})

test('a Dockerfile from scratch', { skip, timeout: TEST_MS }, async context => {
  const { sandbox, project } = await built(context, 'scratch')
  const { exitCode } = await sandbox.exec.run({ command: 'sh' }, context.signal)
  assert.equal(exitCode, 127)
  await sandbox.exec.writeFile('/workspace/made', Buffer.from('made'), context.signal)
  assert.equal(readFileSync(join(project, 'made'), 'utf8'), 'made')
  await assert.rejects(sandbox.exec.readFile('/execd.token', context.signal), { code: 'file_refused' })
})

test('any image with a shell', { skip, timeout: TEST_MS }, async context => {
  const [block = ''] = recipe(2)
  const { sandbox } = await started(context, block.replace('debian:bookworm-slim', shellImage(context)))
  await isWalled(sandbox, context.signal)
})

test('any image with a shell: another file than the one that was meant is not run', {
  skip,
  timeout: TEST_MS,
}, async context => {
  const [block = ''] = recipe(2)
  const image = shellImage(context)
  const name = nameFor(context)
  const home = recipeFolder(context, false)
  mkdirSync(join(home, 'project'))
  runBlock(
    withNames(block, name)
      .replace('debian:bookworm-slim', image)
      .replace('$sum &&', `${'0'.repeat(64)} &&`),
    home,
  )
  assert.equal(docker('wait', name), '1')
  const said = execFileSync('sh', ['-c', 'docker logs "$1" 2>&1', 'sh', name], { encoding: 'utf8' })
  assert.match(said, /^install-execd: refused: [^\n]*\n$/)
})

async function built(context: TestContext, base: string) {
  const [dockerfile = '', block = ''] = recipe(1)
  return await started(context, block, home => {
    writeFileSync(join(home, 'Dockerfile'), dockerfile.replace(/^FROM .*$/m, `FROM ${base}`))
  })
}

/** Runs the block under names of its own, and opens what it has started. */
async function started(context: TestContext, block: string, before: (home: string) => void = () => {}) {
  const name = nameFor(context)
  const home = recipeFolder(context, false)
  const project = join(home, 'project')
  mkdirSync(project)
  if (isRoot()) chownSync(project, AGENT, AGENT)
  before(home)
  runBlock(withNames(block, name), home)
  const [address = ''] = docker('port', name, '8080/tcp').split('\n')
  const token = readFileSync(join(home, 'token'), 'utf8').trim()
  const headers = { Authorization: `Bearer ${token}` }
  const driver = openDriver({ kind: 'remote', url: `http://${address}`, headers })
  const opened: Sandbox[] = []
  await until(async () => {
    const sandbox = await driver.open(anySpec, context.signal).catch(() => null)
    if (sandbox) opened.push(sandbox)
    return sandbox !== null
  }, context.signal)
  const [sandbox] = opened
  assert.ok(sandbox)
  context.after(() => sandbox.close())
  const stranger = openDriver({ kind: 'remote', url: `http://${address}` })
  await assert.rejects(stranger.open(anySpec, context.signal), { code: 'endpoint_refused' })
  return { sandbox, project }
}

/** What the page promises of recipes 1 and 2. */
async function isWalled(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  assert.equal(sandbox.workspace, '/workspace')
  const seen = await sandbox.inspect(signal)
  assert.deepEqual([seen.uid, seen.noNewPrivileges, seen.seccomp], [AGENT, true, true])
  const script = `
    cat /execd.token 2>/dev/null && echo token
    cat /proc/1/environ 2>/dev/null && echo environment
    kill -9 1 2>/dev/null && echo killed
    echo made > made && id -u`
  assert.equal(await sh(sandbox.exec, script, signal), `${AGENT}\n`)
  await assert.rejects(sandbox.exec.readFile('/execd.token', signal), { code: 'file_refused' })
}

const nameFor = (context: TestContext): string => {
  const name = `beige-recipe-${process.pid}-${names++}`
  context.after(() => {
    execFileSync('docker', ['rm', '--force', '--volumes', name], { stdio: 'ignore' })
    if (docker('images', '--quiet', name) !== '') docker('rmi', '--force', name)
  })
  return name
}
let names = 0

/** `hands` and its port, as nothing else on this machine calls them. */
function withNames(block: string, name: string): string {
  return block
    .replaceAll(/\bhands\b/g, name)
    .replace('127.0.0.1:8080:8080', '127.0.0.1::8080')
    .replace('docker create', `docker create -e EXECD_RUN_AS=${AGENT}`)
    .replace(' -e EXECD_RUN_AS=10001', '')
}

/** An image of a shell and a few programs of this machine with their libraries. */
function shellImage(context: TestContext): string {
  const name = nameFor(context)
  const home = recipeFolder(context, false)
  const root = join(home, 'root')
  for (const folder of ['bin', 'tmp', 'usr/local/bin', 'workspace'])
    mkdirSync(join(root, folder), { recursive: true })
  const which = (program: string) =>
    execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim()
  const files = PROGRAMS.map(
    program => [`/usr/bin/${program}`, `/bin/${program}`].find(existsSync) ?? which(program),
  )
  const libraries = execFileSync('ldd', files, { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)
  for (const file of files) execFileSync('cp', ['-L', file, join(root, 'bin', basename(file))])
  for (const [, file = ''] of libraries) {
    mkdirSync(join(root, dirname(file)), { recursive: true })
    execFileSync('cp', ['-L', file, join(root, file)])
  }
  execFileSync('sh', ['-c', 'tar -C "$1" -cf - . | docker import - "$2"', 'sh', root, name], {
    stdio: 'ignore',
  })
  return name
}

function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
