/** The bytes of `provider-health.json`, as design page "Gateway" shows them. */
import {
  bool,
  compile,
  int,
  lit,
  map,
  nullable,
  obj,
  oneOf,
  opt,
  type Static,
  str,
} from '@earendil-works/pi-schema'
import { FAILURE_CLASSES, type FailureClass } from './classify.ts'
import { parse } from './json.ts'

export type HealthEntry = {
  /** Of the API key that it is about. */
  key: string
  class: FailureClass
  rateLimitedAtMs: number | null
  /** Not to be asked before; null: it failed, but nothing limits it. */
  untilMs: number | null
  /** As the server stated it, however long. */
  statedUntilMs: number | null
  hard: boolean
  source: 'header' | 'body' | 'default'
  consecutiveFailures: number
  lastError: {
    atMs: number
    class: FailureClass
    status: number | null
    message: string
    requestId: string | null
  }
  lastSuccessAtMs: number | null
}

const time = str({ maxLength: 40 })
const entry = obj({
  key: str(),
  rateLimitedAt: opt(time),
  retryAfter: opt(time),
  statedUntil: opt(time),
  class: oneOf(FAILURE_CLASSES),
  hard: bool(),
  source: oneOf(['header', 'body', 'default']),
  consecutiveFailures: int(),
  lastError: obj({
    at: time,
    class: oneOf(FAILURE_CLASSES),
    status: nullable(int()),
    message: str(),
    requestId: nullable(str()),
  }),
  lastSuccessAt: opt(time),
})
const healthFile = obj({ version: lit(1), lastUpdated: time, providers: map(entry) })
const schema = compile(healthFile)

export function healthFileBytes(entries: ReadonlyMap<string, HealthEntry>, nowMs: number): Uint8Array {
  const file: Static<typeof healthFile> = {
    version: 1,
    lastUpdated: iso(nowMs),
    providers: Object.fromEntries([...entries].map(([name, one]) => [name, stored(one)])),
  }
  return new TextEncoder().encode(`${JSON.stringify(file, null, 1)}\n`)
}

/** Null when it is no such file. */
export function parseHealthFile(bytes: Uint8Array): [string, HealthEntry][] | null {
  const file = parse(new TextDecoder().decode(bytes))
  if (!schema.check(file)) return null
  return Object.entries(file.providers).map(([name, one]) => [name, loaded(one)])
}

function stored(one: HealthEntry): Static<typeof entry> {
  return {
    key: one.key,
    ...(one.rateLimitedAtMs === null ? {} : { rateLimitedAt: iso(one.rateLimitedAtMs) }),
    ...(one.untilMs === null ? {} : { retryAfter: iso(one.untilMs) }),
    ...(one.statedUntilMs === null ? {} : { statedUntil: iso(one.statedUntilMs) }),
    class: one.class,
    hard: one.hard,
    source: one.source,
    consecutiveFailures: one.consecutiveFailures,
    lastError: {
      at: iso(one.lastError.atMs),
      class: one.lastError.class,
      status: one.lastError.status,
      message: one.lastError.message,
      requestId: one.lastError.requestId,
    },
    ...(one.lastSuccessAtMs === null ? {} : { lastSuccessAt: iso(one.lastSuccessAtMs) }),
  }
}

function loaded(one: Static<typeof entry>): HealthEntry {
  return {
    key: one.key,
    class: one.class,
    rateLimitedAtMs: atMs(one.rateLimitedAt),
    untilMs: atMs(one.retryAfter),
    statedUntilMs: atMs(one.statedUntil),
    hard: one.hard,
    source: one.source,
    consecutiveFailures: one.consecutiveFailures,
    lastError: {
      atMs: atMs(one.lastError.at) ?? 0,
      class: one.lastError.class,
      status: one.lastError.status,
      message: one.lastError.message,
      requestId: one.lastError.requestId,
    },
    lastSuccessAtMs: atMs(one.lastSuccessAt),
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
function atMs(text: string | undefined): number | null {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? null : ms
}
