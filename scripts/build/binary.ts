/**
 * `npm run build:binary`: the `agent` command as one executable, dist/agent-linux-<arch>, that needs no Node and no npm.
 * Made of what `npm run build` put into packages/agent/dist, by Node's single executable application
 * (https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html).
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { arch } from 'node:process'

const BLOB = 'NODE_SEA_BLOB'
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2' // looked for by Node in its own bytes
const NOT_AT_RUN_TIME = /^main\.js$|\.map$/

const root = join(import.meta.dirname, '../..')
const bundle = join(root, 'packages/agent/dist')
const work = join(root, '.cache/binary')
const out = join(root, `dist/agent-linux-${arch}`)

if (!existsSync(join(bundle, 'program.js'))) throw new Error('packages/agent/dist is missing: npm run build')
const execd = `execd/execd-linux-${arch}`
if (!existsSync(join(bundle, execd)))
  throw new Error(`packages/agent/dist/${execd} is missing: npm run build:execd && npm run build`)

rmSync(work, { recursive: true, force: true })
mkdirSync(work, { recursive: true })
mkdirSync(join(root, 'dist'), { recursive: true })

const files = readdirSync(bundle, { recursive: true, encoding: 'utf8' })
  .filter(name => statSync(join(bundle, name)).isFile() && !NOT_AT_RUN_TIME.test(name))
  .filter(name => !name.startsWith('execd/') || name === execd)
  .sort()
const hash = createHash('sha256')
for (const name of files) hash.update(name).update(readFileSync(join(bundle, name)))
const list = join(work, 'files.json')
writeFileSync(list, JSON.stringify({ hash: hash.digest('hex').slice(0, 32), files, executable: [execd] }))

const config = join(work, 'sea.json')
const blob = join(work, 'agent.blob')
const assets = Object.fromEntries(files.map(name => [name, join(bundle, name)]))
writeFileSync(
  config,
  JSON.stringify({
    main: join(import.meta.dirname, 'binary-main.js'),
    output: blob,
    disableExperimentalSEAWarning: true,
    assets: { ...assets, 'files.json': list },
  }),
)
execFileSync(process.execPath, ['--experimental-sea-config', config], {
  stdio: ['ignore', 'ignore', 'inherit'],
})

const made = join(work, 'agent')
copyFileSync(process.execPath, made)
chmodSync(made, 0o755)
try {
  execFileSync('strip', [made], { stdio: 'ignore' }) // symbols are a seventh of it
} catch {
  console.log('strip (binutils) is not there: the file is larger than it needs to be')
}
const postject = join(root, 'node_modules/.bin/postject')
execFileSync(postject, [made, BLOB, blob, '--sentinel-fuse', FUSE], { stdio: ['ignore', 'ignore', 'pipe'] })
renameSync(made, out)
console.log(`dist/agent-linux-${arch} ${statSync(out).size} bytes`)
