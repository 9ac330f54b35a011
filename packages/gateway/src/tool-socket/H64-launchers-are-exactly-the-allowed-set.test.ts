import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { TOOL_CLIENT, writeLaunchers } from './launchers.ts'

test('stale ones, files and folders in their place are gone', () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'beige-launchers-')), 'launchers')
  writeLaunchers(folder, ['kv', 'git'])
  writeFileSync(join(folder, 'curl'), '#!/bin/sh\n')
  mkdirSync(join(folder, 'dir'))
  symlinkSync('/bin/sh', join(folder, 'sh'))
  writeLaunchers(folder, ['kv', 'kv.get'])
  assert.deepEqual(readdirSync(folder).sort(), ['kv', 'kv.get'])
  for (const name of readdirSync(folder)) assert.equal(readlinkSync(join(folder, name)), TOOL_CLIENT)
  writeLaunchers(folder, [])
  assert.deepEqual(readdirSync(folder), [])
})
