/**
 * The file for arm64, where qemu can run it: its tool client. The server needs prctl calls that qemu's user mode refuses,
 * so nothing here claims that it runs; its parts do, by `cargo test` with qemu as the runner.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { FRAME, startGateway } from './fake-gateway.ts'

const ARM64 = join(import.meta.dirname, '../dist/execd-linux-arm64')
const QEMU = 'qemu-aarch64-static'
const EM_AARCH64 = 183
const PT_INTERP = 3
const skip = existsSync(ARM64) ? false : 'absent: execd (for arm64: packages/execd/build.sh arm64)'
const needsQemu = skip || (spawnSync(QEMU, ['--version']).status === 0 ? false : `absent: qemu (no ${QEMU})`)

test('arm64: one static file of its machine, small enough', { skip }, () => {
  const file = readFileSync(ARM64)
  assert.equal(file.readUInt16LE(18), EM_AARCH64)
  const [at, size, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)]
  const kinds = Array.from({ length: count }, (_, index) => file.readUInt32LE(at + index * size))
  assert.ok(!kinds.includes(PT_INTERP), 'it asks for no loader')
  assert.ok(file.length <= 1_500_000, `${file.length} bytes`)
})

test('arm64: the tool client makes its call', { skip: needsQemu }, async t => {
  const gateway = await startGateway(t, ({ request, send }) => {
    send(FRAME.stdout, JSON.stringify(request.args))
    send(FRAME.exit, { exit_code: 3, signal: null, timed_out: false })
  })
  const env = { BEIGE_GATEWAY_SOCKET: join(gateway.folder, 'gateway.sock'), PATH: process.env.PATH ?? '' }
  const client = spawn(QEMU, ['-0', 'kv', ARM64, 'get', 'a b'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [stdout, code] = await Promise.all([
    text(client.stdout),
    new Promise(resolve => client.once('exit', resolve)),
  ])
  assert.deepEqual([stdout, code], ['["get","a b"]', 3])
})
