/**
 * What the one-file `agent` runs first: lays its files out once under the user's cache, in a folder named by their
 * content, and goes on from there. CommonJS, as Node wants it of a single executable.
 */
const { createRequire, enableCompileCache } = require('node:module')
const {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs')
const { homedir, tmpdir } = require('node:os')
const { dirname, join } = require('node:path')
const { getAsset } = require('node:sea')

const { hash, files, executable } = JSON.parse(getAsset('files.json', 'utf8'))

function laidOut(cache) {
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  // What lies there is run as code: a folder that somebody else made or may write is not used.
  const { uid, mode } = statSync(cache)
  if (uid !== process.getuid() || mode & 0o022) throw new Error(`${cache} is not ours alone`)
  const folder = join(cache, hash)
  if (existsSync(folder)) return folder
  const made = mkdtempSync(join(cache, '.new-'))
  for (const name of files) {
    mkdirSync(dirname(join(made, name)), { recursive: true })
    writeFileSync(join(made, name), Buffer.from(getAsset(name)))
  }
  for (const name of executable) chmodSync(join(made, name), 0o755)
  writeFileSync(join(made, 'package.json'), '{"type":"module"}')
  writeFileSync(join(made, 'start.cjs'), "module.exports = () => import('./program.js')\n")
  try {
    renameSync(made, folder)
  } catch (error) {
    rmSync(made, { recursive: true, force: true })
    if (!existsSync(folder)) throw error // another start was quicker
  }
  return folder
}

function folderOfProgram() {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'beige')
  try {
    const folder = laidOut(join(cache, 'agent'))
    try {
      mkdirSync(join(cache, 'code'), { recursive: true, mode: 0o700 })
      enableCompileCache(join(cache, 'code'))
    } catch {}
    return folder
  } catch {
    // A home that can not be written: a folder for this run alone.
    const own = mkdtempSync(join(tmpdir(), 'beige-agent-'))
    process.on('exit', () => rmSync(own, { recursive: true, force: true }))
    return laidOut(own)
  }
}

createRequire(join(folderOfProgram(), 'start.cjs'))('./start.cjs')().catch(error => {
  console.error(error)
  process.exitCode = 1
})
