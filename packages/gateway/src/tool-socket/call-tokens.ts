/**
 * Says who calls back from a sandbox. Each command of a model gets a token: its call's id and an HMAC over what our side
 * knows of it. The id finds the call among those that run, the HMAC proves that the token was given out for it; a call
 * that has ended is found no more, so its token is dead.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { CallId, SessionId } from '@beige/protocol'
import { isNotFound, syncFolder } from '../home/json-file.ts'

export type LiveCall = {
  agent: string
  session: SessionId
  run: string
  channel: string | null
  model: string | null
}
export type FoundCall = LiveCall & { callId: CallId }

export interface CallTokens {
  /** The call begins; answers its token. */
  open(callId: CallId, call: LiveCall): string
  close(callId: CallId): void
  get(callId: CallId): LiveCall | null
  /** `foreign`: a running call of another agent; `unknown`: ended, forged or no token at all. */
  find(agent: string, token: string): FoundCall | 'foreign' | 'unknown'
}

export const TOKEN_PREFIX = 'bgx_v1'
const KEY_BYTES = 32

export function createCallTokens(key: Uint8Array): CallTokens {
  const calls = new Map<string, LiveCall & { callId: CallId }>()
  const macOf = (callId: string, { agent, session, run }: LiveCall) =>
    createHmac('sha256', key)
      .update(JSON.stringify([agent, session, run, callId]))
      .digest('hex')

  return {
    open(callId, call) {
      calls.set(callId, { ...call, callId })
      return `${TOKEN_PREFIX}.${callId}.${macOf(callId, call)}`
    },
    close: callId => void calls.delete(callId),
    get: callId => calls.get(callId) ?? null,
    find(agent, token) {
      const [prefix, callId = '', mac = '', ...more] = token.split('.')
      const call = calls.get(callId)
      if (prefix !== TOKEN_PREFIX || more.length > 0 || call === undefined) return 'unknown'
      const expected = Buffer.from(macOf(callId, call))
      const given = Buffer.from(mac)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'unknown'
      return call.agent === agent ? call : 'foreign'
    },
  }
}

/** The key below `keys/`, made at the first start. */
export function readTokenKey(folder: string): Uint8Array {
  const path = join(folder, 'exec-token.key')
  try {
    const key = readFileSync(path)
    if (key.length === KEY_BYTES) return key
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const key = randomBytes(KEY_BYTES)
  const file = openSync(path, 'w', 0o600)
  try {
    writeSync(file, key)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  syncFolder(folder)
  return key
}
