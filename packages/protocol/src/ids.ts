/** Ids: branded, sortable by time, unique across machines. */
import type { Clock, Random } from './outside.ts'

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

export type SessionId = Branded<'session'>
/** Names a record in the tree of a session; the id of a `prompt` record is its run's id. */
export type EntryId = Branded<'entry'>
export type CallId = Branded<'call'>

const SESSION_ID = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/ // no leading dot: an id is a folder name

export function isSessionId(text: string): text is SessionId {
  return SESSION_ID.test(text)
}
export const newSessionId = (clock: Clock, random: Random) => `s_${sortable(clock, random)}` as SessionId
export const newEntryId = (clock: Clock, random: Random) => `e_${sortable(clock, random)}` as EntryId
export const newCallId = (clock: Clock, random: Random) => `c_${sortable(clock, random)}` as CallId
/** For ids that come out of a record whose schema has been checked. */
export const asEntryId = (text: string) => text as EntryId
export const asCallId = (text: string) => text as CallId

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ' // Crockford base 32, https://www.crockford.com/base32.html

/** 48 bits of time and 80 of randomness as in ULID (https://github.com/ulid/spec). */
function sortable(clock: Clock, random: Random): string {
  let time = Math.max(0, Math.floor(clock.now()))
  let head = ''
  for (let i = 0; i < 10; i++) {
    head = ALPHABET.charAt(time % 32) + head
    time = Math.floor(time / 32)
  }
  let tail = ''
  for (const byte of random.bytes(16)) tail += ALPHABET.charAt(byte & 31)
  return head + tail
}
