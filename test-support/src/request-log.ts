/** What came in to the model server, kept for assertions. */
import type { WireName } from './model-script.ts'

/** `server_closed`: the server was stopped or cut the connection itself. */
export type RequestEnd = 'answered' | 'client_closed' | 'server_closed'

export type RecordedRequest = {
  /** From 1, in order of arrival. */
  index: number
  wire: WireName | null
  method: string
  path: string
  headers: Readonly<Record<string, string>>
  body: unknown
  /** How the exchange ended, as the server sees it. */
  end: Promise<RequestEnd>
}

export type RequestLog = {
  requests: readonly RecordedRequest[]
  refusals: readonly string[]
  add(entry: Omit<RecordedRequest, 'index' | 'end'>): RecordedRequest & { settle(end: RequestEnd): void }
  refuse(text: string): void
  request(n: number, deadlineMs?: number): Promise<RecordedRequest>
}

const DEADLINE_MS = 10_000 // generous: it only says that a test hangs

export function createRequestLog(keep: number): RequestLog {
  const requests: RecordedRequest[] = []
  const refusals: string[] = []
  const waiting = new Map<number, Set<(request: RecordedRequest) => void>>()
  let count = 0
  return {
    requests,
    refusals,
    add(entry) {
      const { promise: end, resolve: settle } = Promise.withResolvers<RequestEnd>()
      const recorded = { ...entry, index: ++count, end }
      requests.push(recorded)
      if (requests.length > keep) requests.shift()
      for (const resolve of waiting.get(count) ?? []) resolve(recorded)
      waiting.delete(count)
      return { ...recorded, settle }
    },
    refuse(text) {
      refusals.push(text)
      if (refusals.length > keep) refusals.shift()
    },
    request(n, deadlineMs = DEADLINE_MS) {
      const known = requests.find(request => request.index === n)
      if (known !== undefined) return Promise.resolve(known)
      const { promise, resolve, reject } = Promise.withResolvers<RecordedRequest>()
      const late = () => reject(new Error(`request ${n} did not come in ${deadlineMs} ms; ${count} did`))
      const timer = setTimeout(late, deadlineMs)
      const resolvers = waiting.get(n) ?? new Set()
      waiting.set(n, resolvers)
      resolvers.add(request => {
        clearTimeout(timer)
        resolve(request)
      })
      return promise
    },
  }
}
