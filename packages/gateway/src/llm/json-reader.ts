/** Reads a body of unknown shape field by field; what is not as it must be is `bad_request` with its place. */
import { fail } from '../errors.ts'

export type Json = Readonly<Record<string, unknown>>

export function bad(place: string, what: string): Error {
  return fail('bad_request', { reason: `${place === '' ? 'the body' : place}: ${what}` })
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function record(value: unknown, place: string): Json {
  if (!isRecord(value)) throw bad(place, 'must be an object')
  return value
}

export function list(value: unknown, place: string): readonly unknown[] {
  if (!Array.isArray(value)) throw bad(place, 'must be an array')
  return value
}

export function texts(value: unknown, place: string): readonly string[] {
  return list(value, place).map((one, index) => text(one, at(place, index)))
}

export function text(value: unknown, place: string): string {
  if (typeof value !== 'string') throw bad(place, 'must be a string')
  return value
}

/** Undefined where the field is missing or null. */
export function optional<T>(
  holder: Json,
  name: string,
  place: string,
  read: (value: unknown, place: string) => T,
): T | undefined {
  const value = holder[name]
  return value === undefined || value === null ? undefined : read(value, at(place, name))
}

export function number(value: unknown, place: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw bad(place, 'must be a number')
  return value
}

export function count(value: unknown, place: string): number {
  const found = number(value, place)
  if (!Number.isInteger(found) || found < 1) throw bad(place, 'must be a whole number from 1')
  return found
}

export function flag(value: unknown, place: string): boolean {
  if (typeof value !== 'boolean') throw bad(place, 'must be true or false')
  return value
}

export function at(place: string, name: string | number): string {
  if (typeof name === 'number') return `${place}[${name}]`
  return place === '' ? name : `${place}.${name}`
}
