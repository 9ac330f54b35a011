/**
 * pi-ai's login flows call the global `fetch`. While one runs with a `fetch` that was handed in, the global one asks
 * whose call it is; with the system's own nothing is touched.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Fetch, systemFetch } from '../system-fetch.ts'

const handedIn = new AsyncLocalStorage<Fetch>()
let isInstalled = false

export function withFetch<T>(send: Fetch, run: () => Promise<T>): Promise<T> {
  if (send === systemFetch) return run()
  if (!isInstalled) {
    isInstalled = true
    const own = globalThis.fetch
    globalThis.fetch = (input, init) => {
      const ours = handedIn.getStore()
      // What was handed in may be made of the global one.
      return ours === undefined ? own(input, init) : handedIn.exit(() => ours(input, init))
    }
  }
  return handedIn.run(send, run)
}
