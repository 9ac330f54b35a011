/** First come, first served read-write locks by key; a waiter that is aborted leaves the queue. */

type Mode = 'shared' | 'exclusive'
type Waiter = { mode: Mode; grant: () => void }
type Lock = { held: number; mode: Mode; queue: Waiter[] }

export type Release = () => void

export interface Locks {
  /** Resolves when the key is held; rejects with the signal's reason. Call the answer once to let go. */
  acquire(key: string, mode: Mode, signal: AbortSignal): Promise<Release>
}

export function createLocks(): Locks {
  const locks = new Map<string, Lock>()

  const advance = (key: string, lock: Lock) => {
    for (;;) {
      const next = lock.queue[0]
      if (!next) break
      if (lock.held > 0 && (next.mode === 'exclusive' || lock.mode === 'exclusive')) return
      lock.queue.shift()
      lock.held++
      lock.mode = next.mode
      next.grant()
    }
    if (lock.held === 0) locks.delete(key)
  }

  return {
    acquire: (key, mode, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const lock = locks.get(key) ?? { held: 0, mode, queue: [] }
        locks.set(key, lock)
        const onAbort = () => {
          lock.queue.splice(lock.queue.indexOf(waiter), 1)
          advance(key, lock)
          reject(signal.reason)
        }
        let released = false
        const release = () => {
          if (released) return
          released = true
          lock.held--
          advance(key, lock)
        }
        const waiter: Waiter = {
          mode,
          grant: () => {
            signal.removeEventListener('abort', onAbort)
            resolve(release)
          },
        }
        signal.addEventListener('abort', onAbort, { once: true })
        lock.queue.push(waiter)
        advance(key, lock)
      }),
  }
}
