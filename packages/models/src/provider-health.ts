/**
 * Which models must not be asked before when, for every session of this process, and over restarts in
 * `provider-health.json`. What is limited is what cools down: a model, or with a quota all models of the account.
 */
import { createHash } from 'node:crypto'
import { type Clock, messageOf } from '@beige/protocol'
import type { Classified, FailureClass } from './classify.ts'
import { type HealthEntry, healthFileBytes, parseHealthFile } from './health-file.ts'
import type { StateDisk } from './outside.ts'
import type { RequestFailure } from './router.ts'

/** What a limit is about; `key` is the API key, of which only a fingerprint is kept. */
export type HealthTarget = { provider: string; id: string; key: string | null }

export type Admission =
  | { state: 'open' }
  | { state: 'cooling'; untilMs: number; class: FailureClass }
  /** The cooldown is over and somebody is trying whether that is true; others better ask another model. */
  | { state: 'probing' }

export type ProviderHealth = {
  admit(target: HealthTarget): Admission
  /** An attempt begins; it is the probe when the model has just cooled down. */
  begin(target: HealthTarget): void
  /** How the attempt went; null: nothing can be said, e.g. after an abort. Resolves when a cooldown is durable. */
  end(
    target: HealthTarget,
    result: 'ok' | { failure: RequestFailure; classified: Classified } | null,
  ): Promise<void>
  /** By `provider/model` or `provider/*`. */
  entries(): ReadonlyMap<string, HealthEntry>
  /** Forgets the cooldowns of a model and of its provider. */
  clear(provider: string, id: string): Promise<void>
  /** Writes what is not written yet. */
  close(): Promise<void>
}

export type HealthOptions = {
  clock: Clock
  /** Without it nothing outlives the process. */
  file?: { path: string; disk: StateDisk }
  /** Is told what could not be read or written. */
  warn?(text: string): void
}

const WRITE_EVERY_MS = 1000
const MAX_MESSAGE_CHARS = 300

export async function openProviderHealth(options: HealthOptions): Promise<ProviderHealth> {
  const { clock, file, warn = () => {} } = options
  const entries = new Map(file === undefined ? [] : await load(file, clock.now(), warn))
  const probing = new Set<string>()
  const lastSuccess = new Map<string, number>()
  const stopped = new AbortController()
  let isDirty = false
  let later: Promise<void> | null = null
  let writing: Promise<void> = Promise.resolve()

  /** One write at a time; what changes meanwhile is in the next. */
  const write = (): Promise<void> => {
    writing = writing.then(async () => {
      if (file === undefined || !isDirty) return
      isDirty = false
      try {
        await file.disk.replace(file.path, healthFileBytes(entries, clock.now()))
      } catch (error) {
        isDirty = true
        warn(
          `${file.path} could not be written, so cooldowns would not survive a restart: ${messageOf(error)}`,
        )
      }
    })
    return writing
  }
  const writeLater = (): void => {
    if (file === undefined || later !== null || stopped.signal.aborted) return
    later = clock
      .sleep(WRITE_EVERY_MS, stopped.signal)
      .then(write, () => undefined) // rejects when closed, which writes itself
      .finally(() => {
        later = null
      })
  }
  const namesOf = ({ provider, id }: HealthTarget): string[] => [`${provider}/${id}`, `${provider}/*`]
  const own = (target: HealthTarget): [string, HealthEntry][] =>
    namesOf(target).flatMap(name => {
      const entry = entries.get(name)
      return entry !== undefined && entry.key === fingerprint(target.key) ? [[name, entry]] : []
    })

  return {
    admit(target) {
      const found = own(target)
      const now = clock.now()
      const cooling = found
        .map(([, entry]) => ({ untilMs: entry.untilMs ?? 0, class: entry.class }))
        .sort((a, b) => b.untilMs - a.untilMs)[0]
      if (cooling !== undefined && cooling.untilMs > now) return { state: 'cooling', ...cooling }
      return found.some(([name]) => probing.has(name)) ? { state: 'probing' } : { state: 'open' }
    },
    begin(target) {
      for (const [name, entry] of own(target)) if (entry.untilMs !== null) probing.add(name)
    },
    async end(target, result) {
      for (const name of namesOf(target)) probing.delete(name)
      if (result === null) return
      if (result === 'ok') {
        lastSuccess.set(`${target.provider}/${target.id}`, clock.now())
        for (const [name] of own(target)) {
          entries.delete(name)
          isDirty = true
        }
        if (isDirty) writeLater()
        return
      }
      const { failure, classified } = result
      const now = clock.now()
      const { cooldown } = classified
      const name = `${target.provider}/${cooldown?.scope === 'provider' ? '*' : target.id}`
      const before = entries.get(name)
      const key = fingerprint(target.key)
      const same = before?.key === key ? before : undefined
      entries.set(name, {
        key,
        class: classified.class,
        // An overload in the middle of a cooldown does not end it.
        rateLimitedAtMs: cooldown === null ? (same?.rateLimitedAtMs ?? null) : now,
        untilMs: cooldown === null ? (same?.untilMs ?? null) : now + cooldown.ms,
        statedUntilMs: cooldown === null ? (same?.statedUntilMs ?? null) : stated(now, cooldown.statedMs),
        hard: cooldown?.hard ?? same?.hard ?? false,
        source: cooldown?.source ?? same?.source ?? 'default',
        consecutiveFailures: (same?.consecutiveFailures ?? 0) + 1,
        lastError: {
          atMs: now,
          class: classified.class,
          status: failure.status,
          message: failure.message.slice(0, MAX_MESSAGE_CHARS),
          requestId: failure.headers['request-id'] ?? failure.headers['x-request-id'] ?? null,
        },
        lastSuccessAtMs: lastSuccess.get(`${target.provider}/${target.id}`) ?? same?.lastSuccessAtMs ?? null,
      })
      isDirty = true
      if (cooldown !== null) await write()
      else writeLater()
    },
    entries: () => entries,
    async clear(provider, id) {
      for (const name of [`${provider}/${id}`, `${provider}/*`]) if (entries.delete(name)) isDirty = true
      await write()
    },
    async close() {
      stopped.abort()
      await later
      await write()
    },
  }
}

/** Expired entries are dropped; a file that can not be read is set aside and never taken for an empty one. */
async function load(
  { path, disk }: { path: string; disk: StateDisk },
  nowMs: number,
  warn: (text: string) => void,
): Promise<[string, HealthEntry][]> {
  const bytes = await disk.read(path)
  if (bytes === null) return []
  const parsed = parseHealthFile(bytes)
  if (parsed !== null) return parsed.filter(([, entry]) => entry.untilMs !== null && entry.untilMs > nowMs)
  const aside = `${path}.corrupt-${new Date(nowMs).toISOString().replaceAll(':', '-')}`
  await disk.rename(path, aside)
  warn(`${path} could not be read and was moved to ${aside}; no cooldown is known`)
  return []
}

function stated(nowMs: number, statedMs: number | null): number | null {
  return statedMs === null ? null : nowMs + statedMs
}

/** Tells one key from another and nothing more. */
function fingerprint(key: string | null): string {
  return key === null ? 'none' : createHash('sha256').update(key).digest('hex').slice(0, 8)
}
