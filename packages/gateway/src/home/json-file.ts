/** Small JSON files with one writer: replaced atomically, and set aside, never overwritten, when they are damaged (H05, H08). */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '@beige/protocol'
import type { Validator } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'

/** `absent` where there is no such file; a damaged one is renamed and the throw says so. */
export function readJsonFile<T>(path: string, validator: Validator<T>, absent: T, nowMs: number): T {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isNotFound(error)) return absent
    throw error
  }
  let reason: string
  try {
    const value: unknown = JSON.parse(text)
    if (validator.check(value)) return value
    reason = validator.errors(value)[0]?.path ?? 'its shape is unknown'
  } catch (error) {
    reason = messageOf(error)
  }
  const aside = `${path}.corrupt-${nowMs}`
  renameSync(path, aside)
  throw fail('file_damaged', { path, aside, reason })
}

/** Durable when it returns: temp beside it, fsync, rename, fsync of the folder. */
export function writeJsonFile(path: string, value: unknown): void {
  const temp = `${path}.tmp`
  const file = openSync(temp, 'w', 0o600)
  try {
    writeSync(file, `${JSON.stringify(value, null, 2)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temp, path)
  syncFolder(dirname(path))
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

export function isNotFound(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT'
}
