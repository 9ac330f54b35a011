import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { takeLock } from './lock.ts'

const HOLDER = `
const { takeLock } = await import(process.argv[1])
const lock = takeLock(process.argv[2], () => '')
process.stdout.write('held\\n')
setInterval(() => lock, 1000)
`

test('H11-a-kernel-lock-decides: a second holder is refused, and a killed one holds nothing', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'beige-lock-')), 'gateway.lock')
  const module = new URL('./lock.ts', import.meta.url).href
  const conditions = process.execArgv.filter(arg => arg.startsWith('--conditions'))
  const holder = spawn(process.execPath, [...conditions, '--input-type=module', '-e', HOLDER, module, path])
  try {
    await once(holder.stdout, 'data')
    assert.throws(() => takeLock(path, () => ' (pid 7)'), {
      code: 'already_running',
      message: 'already running (pid 7)',
    })
  } finally {
    holder.kill('SIGKILL')
  }
  await once(holder, 'exit')
  takeLock(path, () => '')[Symbol.dispose]()
  const again = takeLock(path, () => '')
  again[Symbol.dispose]()
})
