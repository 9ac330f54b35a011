/** Lets a sandbox sleep when it was not used for a while, and wakes it for the next call. */
import type { Clock } from '@beige/protocol'
import type { Sandbox } from '@beige/sandbox'

export type IdleSettings = {
  clock: Clock
  /** Without a call for so long it is put to sleep, unless something runs in it; 0: never. */
  idlePauseMs: number
}

export interface IdleSleep {
  /** Runs `call` while the sandbox is awake, and keeps it so until the call has ended. */
  awake<Answer>(call: () => Promise<Answer>): Promise<Answer>
  /** From now on it falls asleep no more. One that sleeps is left to. */
  stop(): Promise<void>
}

export function idleSleep(
  sandbox: Pick<Sandbox, 'sleep' | 'wake'>,
  { clock, idlePauseMs }: IdleSettings,
): IdleSleep {
  let calls = 0
  let isAsleep = false
  let waiting: AbortController | null = null
  let falling: Promise<void> = Promise.resolve()
  let waking: Promise<void> | null = null
  let canSleep = idlePauseMs > 0

  async function fallAsleep(): Promise<void> {
    try {
      const how = await sandbox.sleep()
      isAsleep = how === 'asleep'
      canSleep &&= how !== 'never'
    } catch {
      isAsleep = true // nobody knows, and waking one that is awake does no harm
    }
    if (!isAsleep && calls === 0) wait() // a job of its own goes on: looked at again later
  }

  function wait(): void {
    if (!canSleep) return
    const mine = new AbortController()
    waiting = mine
    clock.sleep(idlePauseMs, mine.signal).then(
      () => {
        if (waiting !== mine) return // a call came in the same moment
        waiting = null
        falling = fallAsleep()
      },
      () => undefined,
    )
  }

  function wakeOnce(): Promise<void> {
    waking ??= sandbox
      .wake()
      .then(() => {
        isAsleep = false
      })
      .finally(() => {
        waking = null
      })
    return waking
  }

  wait()
  return {
    async awake(call) {
      calls++
      waiting?.abort()
      waiting = null
      try {
        await falling
        if (isAsleep) await wakeOnce()
        return await call()
      } finally {
        calls--
        if (calls === 0 && !isAsleep) wait()
      }
    },
    async stop() {
      canSleep = false
      waiting?.abort()
      waiting = null
      await falling
    },
  }
}
