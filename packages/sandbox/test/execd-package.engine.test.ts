/** execd out of its npm package: packed, installed without a registry into an empty folder, found from there, and run. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arch } from 'node:process'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createExecClient, findExecd, parseEndpoint } from '../src/index.ts'
import { execdAbsence, npmAbsence, TEST_MS, until } from './machine.ts'

const PACKAGES = join(import.meta.dirname, '../..')
const skip = execdAbsence() ?? npmAbsence() ?? false
const OTHER = arch === 'x64' ? 'arm64' : 'x64'

test('packed, installed where nothing else is, found and run', { skip, timeout: TEST_MS }, async context => {
  const { folder, npm } = emptyFolder(context)
  // Another platform's is an optional dependency that npm leaves out; its content is never looked at.
  const [mine, other] = [pack(npm, folder, arch), pack(npm, folder, OTHER)]
  const user = join(folder, 'user')
  mkdirSync(user)
  const optionalDependencies = {
    [`@beige/execd-linux-${arch}`]: `file:${mine}`,
    [`@beige/execd-linux-${OTHER}`]: `file:${other}`,
  }
  writeFileSync(join(user, 'package.json'), JSON.stringify({ private: true, optionalDependencies }))
  npm(user, 'install', '--ignore-scripts', '--no-audit', '--no-fund')

  const from = pathToFileURL(join(user, 'program.js')).href
  const found = findExecd(undefined, from)
  assert.equal(found, join(user, `node_modules/@beige/execd-linux-${arch}/dist/execd`))
  assert.throws(() => npm(user, 'ls', `@beige/execd-linux-${OTHER}`))

  const socket = join(folder, 'exec.sock')
  const child = spawn(found, [], {
    env: { EXECD_LISTEN: `unix:${socket}`, EXECD_ROOT: user },
    stdio: 'ignore',
  })
  context.after(() => child.kill())
  const endpoint = parseEndpoint(`unix:${socket}`)
  assert.ok(endpoint)
  const exec = createExecClient(endpoint)
  await until(() => exec.health(context.signal).then(Boolean, () => false), context.signal)
  const { exitCode, stdout } = await exec.run({ command: 'pwd' }, context.signal)
  assert.deepEqual([exitCode, Buffer.from(stdout).toString()], [0, `${user}\n`])
  await exec.close()
  child.kill()
  await once(child, 'exit')
})

test('a package that does not fit this machine is refused', { skip, timeout: TEST_MS }, context => {
  const { folder, npm } = emptyFolder(context)
  const other = pack(npm, folder, OTHER)
  assert.throws(() => npm(folder, 'install', '--ignore-scripts', other), /EBADPLATFORM/)
  assert.throws(() => findExecd(undefined, pathToFileURL(join(folder, 'program.js')).href), {
    code: 'no_execd',
  })
})

type Npm = (cwd: string, ...args: string[]) => string

function emptyFolder(context: TestContext): { folder: string; npm: Npm } {
  const folder = mkdtempSync(join(tmpdir(), 'beige-execd-package-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const env = {
    ...process.env,
    npm_config_cache: join(folder, 'cache'),
    npm_config_offline: 'true',
    npm_config_loglevel: 'error',
  }
  return {
    folder,
    npm: (cwd, ...args) => execFileSync('npm', args, { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim(),
  }
}

/** The package as it is in the repository, around this machine's binary; the packed file's path. */
function pack(npm: Npm, folder: string, which: string): string {
  const made = join(folder, `package-${which}`)
  mkdirSync(join(made, 'dist'), { recursive: true })
  for (const name of ['package.json', 'README.md'])
    copyFileSync(join(PACKAGES, `execd-linux-${which}`, name), join(made, name))
  copyFileSync(findExecd(), join(made, 'dist/execd'))
  chmodSync(join(made, 'dist/execd'), 0o755)
  return join(folder, npm(made, 'pack', '--silent', '--pack-destination', folder))
}
